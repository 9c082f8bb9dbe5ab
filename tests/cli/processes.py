"""The real command as a real process: beside pipes, or on a terminal of its own."""

import os
import re
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path
from typing import Self

from tests.cli.display import Display

LIMIT_SECONDS = 60
"""A test that waits longer has failed; nothing waits for time to pass."""

_FOREIGN = re.compile(r"^(?:STOIC|XDG|OPENAI|AZURE|OLLAMA)_|_API_KEY$|_TOKEN$|_BASE_URL$|(?i:_proxy)$|^SSL_CERT_FILE$")
"""Variables of whoever runs the tests that would decide something here."""

# The child makes the terminal its own, so that Ctrl-C typed there reaches it; then it becomes the command.
_ON_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Bench:
    """A folder with a workspace and a log, and the command run there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.database = folder / "log.db"
        self.workspace.mkdir()
        kept = {name: value for name, value in os.environ.items() if not _FOREIGN.search(name)}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            kept.pop(name, None)
        self.environment = kept | {
            "HOME": str(folder),
            "STOIC_DB": str(self.database),
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "stoic", *arguments]

    def working(self, provider, *arguments: str) -> list[str]:
        """Return the arguments of `run` against a provider, in the workspace."""
        where = ["--workspace", str(self.workspace), "--model", "openai-chat:m", "--base-url", provider.base_url]
        return ["run", *arguments, *where]

    def talking(self, provider, *arguments: str) -> list[str]:
        """Return the arguments of `chat` against a provider, in the workspace."""
        return ["chat", *self.working(provider, *arguments)[1:]]

    def stoic(self, *arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end beside pipes."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            env=self.environment | environment,
            cwd=self.folder,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command beside pipes; use it as a context manager."""
        return subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
            cwd=self.folder,
        )

    def terminal(self, *arguments: str, columns: int = 80, rows: int = 24, **environment: str) -> "Terminal":
        """Start a command on a terminal; use it as a context manager."""
        return Terminal(self.command(*arguments), self.environment | environment, self.folder, columns, rows)


class Terminal:
    """A command on a pseudo terminal, with a display that shows what a person would see."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path, columns: int, rows: int) -> None:
        self._master, slave = os.openpty()
        termios.tcsetwinsize(slave, (rows, columns))
        self.display = Display(columns, rows)
        self.raw = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ON_TERMINAL, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT_SECONDS)
        os.close(self._master)

    def wait_for(self, text: str, *, times: int = 1) -> None:
        """Read until the text stands on the display, so many times."""
        while self.display.text().count(text) < times:
            if not self._read():
                raise AssertionError(f"{text!r} never came; the display at the end:\n{self.display.text()}")

    def wait_for_prompt(self, times: int) -> None:
        """Read until a line editor listens, for so many times since the beginning."""
        while self.display.prompts < times:
            if not self._read():
                raise AssertionError(f"prompt {times} never came; the display at the end:\n{self.display.text()}")

    def type(self, text: str | bytes) -> None:
        os.write(self._master, text.encode() if isinstance(text, str) else text)

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.type("\x03")

    def end(self) -> int:
        """Read to the end of the output and return the exit code."""
        while self._read():
            pass
        return self.process.wait(LIMIT_SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], LIMIT_SECONDS)
        if not ready:
            self.process.send_signal(signal.SIGKILL)
            raise AssertionError(f"nothing came for {LIMIT_SECONDS} s; the display:\n{self.display.text()}")
        try:
            data = os.read(self._master, 65536)
        except OSError:  # EIO: the other side is closed
            return False
        self.display.feed(data)
        while self.display.questions:
            self.display.questions -= 1
            self.type(self.display.position())
        self.raw += data.decode(errors="replace")
        return bool(data)
