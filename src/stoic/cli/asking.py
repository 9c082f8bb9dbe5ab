"""Puts a parked turn's questions to the person at the terminal and gives the answers to the thread."""

import difflib

from stoic.cli.cleaning import escaped, quoted
from stoic.cli.keyboard import Keyboard
from stoic.cli.screen import Screen
from stoic.cli.stopping import Stopper
from stoic.core.arguments import arguments_of
from stoic.records import Json, Parked, Question
from stoic.runtime.threads import Thread
from stoic.tools.beneath import opened_file
from stoic.tools.editing import edited, read_editable
from stoic.tools.workspace import OutsideWorkspaceError, Workspace

_ANSWERS = {
    **dict.fromkeys(("y", "yes", "once"), "once"),
    **dict.fromkeys(("s", "session"), "session"),
    **dict.fromkeys(("n", "no", "deny"), "deny"),
}
_LIMIT_LINES = 400
"""Longer diffs are cut, and say so: whoever allows the call should know how much was not shown."""
_LIMIT_BYTES = 1_000_000
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class Asker:
    """Asks y(es, once), s(ession) or n(o), also with a reason, for each operation of a question."""

    def __init__(self, screen: Screen, keyboard: Keyboard, stopper: Stopper, workspace: Workspace) -> None:
        """Take the terminal's two sides; diffs are made against the files of the workspace."""
        self._screen = screen
        self._keyboard = keyboard
        self._stopper = stopper
        self._workspace = workspace

    async def ask(self, thread: Thread, parked: Parked) -> bool:
        """Ask and pass on the answers, or a cancel after Ctrl-C; False: the input ended, the turn stays parked."""
        granted: set[str] = set()
        for question in parked.questions:
            if question.tool in granted:
                continue
            self._keyboard.forget()
            self._show(question)
            answer = await self._answer(question)
            if self._stopper.interrupted:
                await thread.cancel()
                return True
            if answer is None:
                self._screen.block(f"parked: `stoic run --thread {quoted(thread.id)}` asks again", "yellow")
                return False
            word, reason = answer
            if word == "session":
                granted.add(question.tool)
            await thread.answer(question.operation, question.tool, word, reason=reason)
        return True

    async def _answer(self, question: Question) -> tuple[str, str | None] | None:
        """Return what the person answers, and why a denial; None: the input ended, or Ctrl-C."""
        prompt = f"Allow? [y]es, once · [s] every {question.tool} of this session · [n]o, or n WHY: "
        while True:
            self._screen.end_line()
            self._screen.text(prompt, "bold")
            line = await self._stopper.unless_interrupted(self._keyboard.line())
            if line is None:
                self._screen.end_line()
                return None
            self._screen.entered()
            word, _, why = line.strip().partition(" ")
            answer = _ANSWERS.get(word.lower())
            if answer is not None and (answer == "deny" or not why):
                return answer, why.strip() or None
            self._screen.line("Type y, s or n; after n the model is told why.", "dim")

    def _show(self, question: Question) -> None:
        """Show what would be done, whole and with control characters visible."""
        screen = self._screen
        screen.block(f"{question.tool} ({question.effect}) asks to run:", "bold")
        arguments = arguments_of(question.arguments)
        if question.tool in {"write_file", "edit_file"}:
            edits = question.tool == "edit_file"
            changes = self._edit(arguments) if edits else self._changes(arguments["path"], arguments["content"])
            for line in _cut(changes):
                screen.block(escaped(line), _STYLES.get(line[:1], "plain"))
        elif question.tool == "shell":
            screen.block(f"$ {escaped(arguments['command'])}", "cyan")
            if "timeout_seconds" in arguments:
                screen.block(f"  at most {escaped(str(arguments['timeout_seconds']))} s", "dim")
        else:
            for name, value in arguments.items():
                screen.block(f"  {escaped(f'{name} = {value}')}")

    def _changes(self, path: str, content: str) -> list[str]:
        """Return a diff of the file as it is against what would be written."""
        exists = True
        try:
            with opened_file(self._workspace, path) as file:
                data = file.read(_LIMIT_BYTES + 1)
            before = _text_of(data) if len(data) <= _LIMIT_BYTES else None
        except FileNotFoundError:
            before, exists = None, False
        except OutsideWorkspaceError:
            return [f"{path} is outside the workspace: the call would be refused"]
        except IsADirectoryError:
            return [f"{path} is a folder: the call would fail"]
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a loop of links
            return [f"{path} cannot be read ({error}); whole new content:", *content.splitlines()]
        if before is None:
            title = f"replaces {path}, which cannot be shown as text" if exists else f"creates {path}"
            lines = [title, *(f"+{line}" for line in content.splitlines())]
        else:
            lines = _diff(path, before, content)
        return lines

    def _edit(self, arguments: Json) -> list[str]:
        """Return a diff of the file as it is against what the edit would make of it, or why it would fail."""
        path, old, new = arguments["path"], arguments["old"], arguments["new"]
        try:
            before = read_editable(self._workspace, path)
            after = edited(path, before, old, new, int(arguments.get("count", 1)))
        except (OSError, ValueError, RuntimeError) as error:  # no such file, no such place, a loop of links
            return [f"the call would fail: {error}"]
        if len(before) > _LIMIT_BYTES:
            pieces = [*(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())]
            return [f"{path} is too large for a diff; in it would be replaced:", *pieces]
        return _diff(path, before, after)


def _diff(path: str, before: str, after: str) -> list[str]:
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), f"{path} (now)", path, lineterm="")
    return list(found) or [f"{path} would be written with the same lines as it has"]


def _cut(lines: list[str]) -> list[str]:
    left_out = len(lines) - _LIMIT_LINES
    return lines if left_out <= 0 else [*lines[:_LIMIT_LINES], f"[{left_out} MORE LINES ARE NOT SHOWN]"]


def _text_of(data: bytes) -> str | None:
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None
