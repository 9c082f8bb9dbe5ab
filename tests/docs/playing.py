"""Plays a page as a reader would: every block in order, in one folder, with the real command against a simulated provider."""

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Self

from tests.cli.processes import LIMIT_SECONDS, Bench
from tests.docs.forking import Forks
from tests.docs.pages import Block

from stoic.testing import ScriptedProvider

CODE = frozenset({"python", "sh", "toml", "json", "sql"})
"""Languages whose blocks are run or read; a `text` block is compared."""
DIRECTIVES = frozenset({"{toctree}", "{eval-rst}"})
"""Blocks that are for the site's builder, which fails by them if they are wrong."""
_UV = re.compile(r"\buv run (--no-dev )?(?=stoic|python)")
_STATED = re.compile(r"127\.0\.0\.1:(8\d{3})")
_THREAD = "SELECT id FROM threads WHERE kind = 'chat' ORDER BY created_at DESC, id DESC"
_TASK = "SELECT id FROM threads WHERE kind = 'task' ORDER BY created_at DESC, id DESC"
_OPERATION = "SELECT id FROM operations ORDER BY state IN ('unknown', 'intended') DESC, position DESC"
_FROM_THE_LOG = {"THREAD": _THREAD, "TASK": _TASK, "OPERATION": _OPERATION}
_FIXED = {"PROVIDER:NAME": "openai-chat:another", "NEW": "copy", "N": "5", "NAME": "some-model"}
"""What a reader puts in place of a word in capitals."""


class Player:
    """One reader at one page; use it as a context manager."""

    def __init__(self, folder: Path, forks: Forks) -> None:
        bench = Bench(folder)
        self.folder = bench.workspace
        self._environment = bench.environment | {
            "PATH": os.pathsep.join([str(forks.folder), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "STOIC_MODEL": "openai-chat:gpt-5",
            "OPENAI_API_KEY": "sk-test",
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "120",
        }
        self._stack = contextlib.ExitStack()
        self._ports: dict[str, int] = {}
        self._used: set[str] = set()
        """Operations that a reader has decided about: the next one he names is another."""
        self._python = ""
        self._printed = ""

    def __enter__(self) -> Self:
        self._provide({"default": ["text:Done.", "stop"]})
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def play(self, block: Block) -> None:
        """Run one block, and hold it to what the page says of it."""
        if "provider" in block.marks:
            self._provide(json.loads(block.marks["provider"]))
        for command in block.marks.get("setup", "").splitlines():
            self._shell(command, block)
        if "file" in block.marks:
            (self.folder / block.marks["file"]).write_text(self._with_ports(block.text), encoding="utf-8")
        elif "in place of" in block.marks:
            self._edit(block)
        elif "not run" not in block.marks and block.language not in DIRECTIVES:
            {
                "python": self._run_python,
                "sh": self._run_shell,
                "toml": self._read_configuration,
                "json": self._read_json,
                "sql": self._run_sql,
                "text": self._compare,
            }[block.language](block)

    def _edit(self, block: Block) -> None:
        name, line = block.marks["in place of"].split(": ", 1)
        text = (self.folder / name).read_text(encoding="utf-8")
        assert text.count(f"{line}\n") == 1, f"{block}: {name} has not one line {line!r}"
        (self.folder / name).write_text(text.replace(f"{line}\n", block.text), encoding="utf-8")

    def _provide(self, script: object) -> None:
        provider = self._stack.enter_context(ScriptedProvider(script))
        self._ports["8000"] = provider.port
        self._environment |= {
            "OPENAI_BASE_URL": provider.base_url,
            "ANTHROPIC_BASE_URL": provider.base_url.removesuffix("/v1"),
        }

    def _run_python(self, block: Block) -> None:
        text = self._python + block.text if "continues" in block.marks else block.text
        self._python = text
        (self.folder / "block.py").write_text(self._with_ports(text), encoding="utf-8")
        self._call(["/bin/bash", "-c", "exec python block.py"], block, int(block.marks.get("exit", 0)))

    def _run_shell(self, block: Block) -> None:
        lines = block.text.replace("\\\n", " ").splitlines()
        commands = [line for line in lines if line.strip() and not line.startswith("#")]
        for number, command in enumerate(commands, 1):
            wanted = int(block.marks.get("exit", 0)) if number == len(commands) else 0
            if "background" in block.marks or "stop" in block.marks:
                self._start(command, block)
            elif command.startswith("export "):
                name, _, value = command.removeprefix("export ").partition("#")[0].partition("=")
                self._environment[name] = self._with_ports(value.strip().replace("…", "sk-test"))
            else:
                self._shell(command, block, wanted)

    def _shell(self, command: str, block: Block, wanted: int = 0) -> None:
        self._call(["/bin/bash", "-c", self._filled(command)], block, wanted)

    def _call(self, arguments: list[str], block: Block, wanted: int) -> None:
        done = subprocess.run(
            arguments,
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        self._printed = done.stdout
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        assert code == wanted, f"{block}: {arguments[-1]!r} ended with {code}, not {wanted}:\n{done.stdout}"

    def _start(self, command: str, block: Block) -> None:
        process = subprocess.Popen(
            ["/bin/bash", "-c", f"exec {_in_full(self._filled(command))}"],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = process.stdout
        assert said is not None
        first = said.readline()
        assert process.poll() is None, f"{block}: {command!r} ended at once:\n{first}{said.read()}"
        if "stop" in block.marks:
            process.send_signal(signal.SIGTERM)
            self._printed = first + said.read()
            assert process.wait(LIMIT_SECONDS) == int(block.marks.get("exit", 0)), f"{block}:\n{self._printed}"
            said.close()
            return
        self._printed = first
        self._stack.callback(_end, process)

    def _read_configuration(self, block: Block) -> None:
        file = self.folder / "config.toml"
        file.write_text(block.text, encoding="utf-8")
        self._shell(f"STOIC_CONFIG={file} stoic config", block)

    def _read_json(self, block: Block) -> None:
        json.loads(block.text)

    def _run_sql(self, block: Block) -> None:
        with contextlib.closing(sqlite3.connect(self._environment["STOIC_DB"])) as log:
            found = log.execute(block.text).fetchall()
        self._printed = "".join("|".join(str(value) for value in row) + "\n" for row in found)

    def _compare(self, block: Block) -> None:
        printed = "\n".join(line.rstrip() for line in self._printed.strip().splitlines())
        assert re.fullmatch(_pattern(block.text.strip()), printed), (
            f"{block}: what was printed is\n{textwrap.indent(printed, '    ')}"
        )

    def _filled(self, command: str) -> str:
        """Return a command with what a reader would put into it."""
        command = self._with_ports(_UV.sub("", command))
        for word, query in _FROM_THE_LOG.items():
            if re.search(rf"\b{word}\b", command):
                command = re.sub(rf"\b{word}\b", self._known(query, word), command)
        for word, value in _FIXED.items():
            command = re.sub(rf"(?<![\w:]){word}\b", value, command)
        return command

    def _known(self, query: str, word: str) -> str:
        with contextlib.closing(sqlite3.connect(self._environment["STOIC_DB"])) as log:
            found = [row[0] for row in log.execute(query) if row[0] not in self._used]
        assert found, f"the log has no {word} that was not named before"
        if word == "OPERATION":
            self._used.add(found[0])
        return found[0]

    def _with_ports(self, text: str) -> str:
        """Return a text in which each port of a simulated provider that the page names is one that is free here."""
        text = _STATED.sub(lambda found: f"127.0.0.1:{self._port(found[1])}", text)
        return re.sub(r"(?<=--port )(8\d{3})", lambda found: str(self._port(found[1])), text)

    def _port(self, stated: str) -> int:
        if stated not in self._ports:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self._ports[stated] = free.getsockname()[1]
        return self._ports[stated]


def _pattern(text: str) -> str:
    """Return what fits a text in which `…` stands for anything of its line, and alone on a line for any lines."""
    lines = [r"(?s:.*?)" if line == "…" else r".*?".join(map(re.escape, line.split("…"))) for line in text.splitlines()]
    return "\n".join(lines)


def _in_full(command: str) -> str:
    """Return a command that is to be signalled: a process that is `stoic` itself, not one that has it run."""
    return re.sub(r"^stoic\b", f"{sys.executable} -m stoic", command)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(LIMIT_SECONDS)
    if process.stdout is not None:
        process.stdout.close()
