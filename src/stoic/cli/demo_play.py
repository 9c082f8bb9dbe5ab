"""The demonstration's play: the files, the task, what the simulated provider says, and what must come of it."""

from stoic.records import Json

NOTES = {
    "notes/monday.txt": "The build is green again.\nOne test was slow: the one for restarts.\n",
    "notes/tuesday.txt": "Restarts are fast now.\nOpen: write down how to move the log to another machine.\nAsk Ada.\n",
}
"""The files that are there when the agent begins, by path in its workspace."""

TASK = "Read the notes, count their lines with a command, write summary.txt."

SUMMARY = "2 notes, 5 lines.\nDone: the build is green, restarts are fast.\nOpen: how to move the log; ask Ada.\n"

VOID = "There seem to be about ninety li"
"""What the cut answer had said before it broke off: it must be nowhere in the log."""

_PAUSE = "delay:400ms"
"""So that a person can see what happens."""


def script() -> list[Json]:
    """Return what the provider plays, in order."""
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
        ["text:summary.txt is written: two notes, five lines, ", _PAUSE, "text:one thing open. The count is from wc."],
    ]


def _call(tool: str, arguments: str) -> str:
    return f"tool:{tool}({arguments})"


def _summary_arguments() -> str:
    content = SUMMARY.replace("\n", "\\n")
    return f'{{"path":"summary.txt","content":"{content}"}}'
