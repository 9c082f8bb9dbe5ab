"""The demonstration's play: the files, the chapters, what the simulated provider says, and what must come of it."""

from stoic.records import Json, Record

NOTES = {
    "notes/monday.txt": "The build is green again.\nOne test was slow: the one for restarts.\n",
    "notes/tuesday.txt": "Restarts are fast now.\nOpen: write down how to move the log to another machine.\nAsk Ada.\n",
}
"""The notes that are there when the agent begins, by path in its workspace."""

LEDGER = "ledger.txt"
POISON = "[[a text that the provider refuses to read]]"
"""Inert: the simulated provider refuses the request that shows it first."""
MAIL = "mail.txt"
FILES = {**NOTES, LEDGER: "", MAIL: f"From: somebody\n{POISON}\n"}
"""Everything that is there when the agent begins."""

SUMMARY = "2 notes, 5 lines.\nDone: the build is green, restarts are fast.\nOpen: how to move the log; ask Ada.\n"

VOID = "There seem to be about ninety li"
"""What the cut answer had said before it broke off: it must be nowhere in the log."""

ORDER = "order: 1 disk\n"
"""The line that the killed command leaves in the ledger."""

CONFIRMATION = "confirmation"
"""The pipe at which the command waits after it has written its line."""

OVERLOADS = 4
"""How often the bound model is overloaded: the first send and its three retries."""

LOOPS = 14
"""How often the model calls a tool that there is not: ten are told, then a block is ignored three times."""

READER = "Reader"
"""The model that the task asks; the script answers it apart from the owner."""
TASK = "demo.7.1.0"
"""The task's id: the operation that started it."""
BRIEF = "Read mail.txt and say who wrote it."

_PAUSE = "delay:400ms"
"""So that a person can see what happens."""


class Chapter(Record, frozen=True):
    """One turn of the story."""

    title: str
    why: str
    """What to look for."""
    task: str
    """What the agent is told."""


STREAM = Chapter(
    title="1. An answer breaks off, and a call has wrong arguments",
    why="What was cut counts for nothing. What was wrong is told to the model.",
    task="Read the notes, count their lines with a command, write summary.txt.",
)
OVERLOAD = Chapter(
    title="2. The provider is overloaded",
    why="A few waits, then another model answers: for this turn only.",
    task="What is open?",
)
RETURN = Chapter(
    title="3. The next turn begins at the first model again",
    why="Only a person changes which model a thread is bound to.",
    task="Whom do we ask?",
)
KILL = Chapter(
    title="4. kill -9 in the middle of a write",
    why="Another process works on the same thread now, and will not live long.",
    task="Order a disk for the move: add it to ledger.txt, wait for confirmation.",
)
REFUSAL = Chapter(
    title="5. A tool's result is refused",
    why="Only that result is withheld. The thread goes on, and nobody else is asked.",
    task="What does mail.txt say?",
)
LOOP = Chapter(
    title="6. The agent repeats itself",
    why="It is told, then blocked, then stopped with the reason. A person may allow more.",
    task="Print the summary.",
)

BACKGROUND = Chapter(
    title="7. A task in the background is refused",
    why="It stops at once, for good. Its owner hears where, and nothing of what it read.",
    task="Have a task read mail.txt, and wait for it.",
)


def script() -> list[Json]:
    """Return what the provider plays, in order."""
    return [*_stream(), *_overload(), *_return(), *_kill(), *_refusal(), *_loop(), *_background()]


def _stream() -> list[Json]:
    return [
        [
            "text:I will read both notes first.",
            _PAUSE,
            _call("read_file", '{"path":"notes/monday.txt"}'),
            _call("read_file", '{"path":"notes/tuesday.txt"}'),
        ],
        [f"text:{VOID}", "delay:1200ms", "cut"],
        ["text:Now I count their lines.", _PAUSE, _call("shell", '{"command":"wc -l notes/*.txt"}')],
        ["text:I write the summary.", _PAUSE, _call("write_file", '{"file":"summary.txt","text":"2 notes"}')],
        ["text:The parameters are path and content.", _PAUSE, _call("write_file", _summary_arguments())],
        ["text:summary.txt is written: two notes, five lines, ", _PAUSE, "text:one thing open."],
    ]


def _overload() -> list[Json]:
    error = {"message": "The engine is currently overloaded, please try again later", "type": "overloaded_error"}
    overloaded: Json = {"status": 503, "headers": {"content-type": "application/json"}, "body": {"error": error}}
    return [
        *([overloaded] * OVERLOADS),
        ["text:Open is how to move the log ", _PAUSE, "text:to another machine."],
    ]


def _return() -> list[Json]:
    return [["text:Ada, ", _PAUSE, "text:says notes/tuesday.txt."]]


def _kill() -> list[Json]:
    order = _call("shell", f'{{"command":"echo \'{ORDER.strip()}\' >> {LEDGER} && cat {CONFIRMATION}"}}')
    return [
        ["text:I order it.", _PAUSE, order],
        ["text:Then I order it once more.", _PAUSE, order],
        ["text:Then I look instead.", _PAUSE, _call("read_file", f'{{"path":"{LEDGER}"}}')],
        ["text:The ledger holds the order once. ", _PAUSE, "text:Whether it was confirmed is unknown."],
    ]


def _refusal() -> list[Json]:
    return [
        ["text:I read it.", _PAUSE, _call("read_file", f'{{"path":"{MAIL}"}}')],
        ["finish:content_filter"],
        ["text:What it says is withheld from me; ", _PAUSE, "text:I cannot tell you."],
    ]


def _loop() -> list[Json]:
    return [[_call("print_file", '{"path":"summary.txt"}')] for _ in range(LOOPS)]


def _background() -> list[Json]:
    brief = f'{{"brief":"{BRIEF}","model":"openai:{READER}"}}'
    return [
        ["text:A task reads it.", _PAUSE, _call("task_start", brief)],
        ["text:I wait for it.", _PAUSE, _call("task_wait", f'{{"tasks":["{TASK}"]}}')],
        [READER, "text:I read it.", _PAUSE, _call("read_file", f'{{"path":"{MAIL}"}}')],
        [READER, "finish:content_filter"],
        ["text:The task was refused in its second round; ", _PAUSE, "text:what it read is not passed on."],
    ]


def _call(tool: str, arguments: str) -> str:
    return f"tool:{tool}({arguments})"


def _summary_arguments() -> str:
    content = SUMMARY.replace("\n", "\\n")
    return f'{{"path":"summary.txt","content":"{content}"}}'
