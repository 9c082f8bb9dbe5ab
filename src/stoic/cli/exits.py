"""The exit codes of `stoic`: 1 is never one of them, so that a crash of the interpreter cannot be taken for an ending.

| code | meaning |
|---|---|
| 0 | completed |
| 2 | wrong usage: an argument, a setting, a file or a database that cannot be used as named |
| 3 | failed by the provider or the network: waiting, a credential or a setting would change it |
| 4 | failed by the request: it must become another one |
| 5 | stopped by a refusal |
| 6 | stopped by a loop, a budget or a person |
| 7 | parked: the turn goes on when what it waits for arrives |
| 8 | cancelled by somebody else than this terminal's Ctrl-C |
| 9 | `stoic demo` could not prove what it claims |
| 70 | a bug of stoic |
| 74 | the log failed while it was in use: nothing of that step was stored, the thread can be resumed |
| 129 | the terminal is gone (SIGHUP); the thread can be resumed |
| 130 | Ctrl-C |
| 141 | the output cannot be written: whoever read it left, or its disk is full; the thread can be resumed |
| 143 | SIGTERM; the thread can be resumed |
"""

COMPLETED = 0
USAGE = 2
FAILED_OUTSIDE = 3
FAILED_BY_REQUEST = 4
REFUSED = 5
STOPPED = 6
PARKED = 7
CANCELLED = 8
DISPROVED = 9
BUG = 70
LOG_FAILED = 74
HUNG_UP = 129
INTERRUPTED = 130
OUTPUT_LOST = 141
TERMINATED = 143
