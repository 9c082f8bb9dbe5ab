"""The slash commands of `stoic chat`: which there are, and what a line means."""

import re

from stoic.cli.names import near
from stoic.errors import UsageError
from stoic.records import Record

COMMANDS = {
    "help": ("", "show this"),
    "switch": (
        "[PROVIDER:NAME] [--mode M]",
        "let another model answer, or be in mode plan or default, also after a restart",
    ),
    "compact": ("", "have the conversation summed up, and go on with the summary and the newest turn"),
    "fresh": ("", "leave the conversation behind: the next message begins without it"),
    "image": ("[FILE]", "show an image with the next message; without FILE: take it back"),
    "status": ("", "say where the thread stands"),
    "resume": ("", "go on with a turn that was left open"),
    "cancel": ("", "end a turn that was left open"),
    "thread": ("[ID]", "show the thread's id, or go over to another thread"),
    "quit": ("", "leave (or Ctrl-D)"),
}
"""By name: its argument and what it does."""
_COMMAND = re.compile(r"/([A-Za-z-]+)(?:\s+(.*))?", re.DOTALL)
_KEYS = """\
Enter sends; Alt-Enter, Ctrl-J or a \\ before Enter begins a new line. Up and Down go through what was said before, \
Ctrl-R searches it. Ctrl-C stops the running turn, or clears the line."""


class Slash(Record, frozen=True):
    """One slash command as it was typed."""

    name: str
    argument: str = ""


def parse(text: str) -> Slash | None:
    """Return the slash command that a line is; None: it is a message, such as one that begins with a path."""
    found = _COMMAND.fullmatch(text.strip())
    return Slash(name=found[1].lower(), argument=(found[2] or "").strip()) if found else None


def switch_of(argument: str) -> tuple[str | None, str | None]:
    """Return the model and the mode that `/switch` names.

    Raises:
        UsageError: it names neither, or something else
    """
    words, model, mode = argument.split(), None, None
    while words:
        word = words.pop(0)
        if word == "--mode" and words and mode is None:
            mode = words.pop(0)
        elif word.startswith("--mode=") and mode is None:
            mode = word.removeprefix("--mode=")
        elif not word.startswith("-") and model is None:
            model = word
        else:
            raise UsageError(f"/switch does not understand {word}; write /switch PROVIDER:NAME, or /switch --mode M")
    if model is not None and ":" not in model:
        raise UsageError(f"{model} names no model; write /switch PROVIDER:NAME, or for a mode /switch --mode {model}")
    if model is None and mode is None:
        raise UsageError("/switch needs a model, such as /switch openai-chat:NAME, or a mode: /switch --mode plan")
    return model, mode


def help_text() -> str:
    """Return the commands and keys, one a line."""
    width = max(len(f"{name} {argument}") for name, (argument, _) in COMMANDS.items())
    lines = [f"/{f'{name} {argument}':{width}}  {said}" for name, (argument, said) in COMMANDS.items()]
    return "\n".join([*lines, _KEYS])


def unknown(name: str) -> str:
    """Say that there is no such command, and which is nearest; nothing was sent."""
    close = near(name, list(COMMANDS))
    hint = f"did you mean {' or '.join(f'/{each}' for each in close)}?" if close else "/help lists those there are"
    return f"there is no command /{name}; {hint}"
