"""Runs `stoic` and Python programs from a process that has loaded them already: a hundred fresh starts cost most of a minute.

What runs is the command's own entry point in a process of its own, with the arguments, folder, environment and streams of
whoever called it. `Forks` makes a folder with a `stoic` and a `python` that ask this process, to be put first on PATH.

Usage of this file as a program: `python forking.py SOCKET`, or as one of the two scripts.
"""

import ast
import asyncio
import contextlib
import importlib
import inspect
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

LIMIT_SECONDS = 60
_LARGEST = 1 << 20
_ASK = """#!{python} -SE
import array, json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({path!r})
    said = json.dumps([{what!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    asked.sendmsg([len(said).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    asked.sendall(said)
    code = int(asked.recv(16).decode() or 1)
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


class Forks:
    """The process that has everything loaded, and the folder with the scripts that ask it; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Self:
        path = self.folder / "socket"
        for name in ("stoic", "python"):
            script = self.folder / name
            script.write_text(_ASK.format(python=sys.executable, path=str(path), what=name), encoding="utf-8")
            script.chmod(0o700)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), str(path)], stdout=subprocess.PIPE, start_new_session=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(LIMIT_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()


def serve(path: str) -> None:
    """Answer each request by a process of its own, until this one is killed."""
    _load_everything()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(16)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            asked, _ = listening.accept()
            _reap()
            if os.fork() == 0:
                listening.close()
                os._exit(_answer(asked))
            asked.close()


def _reap() -> None:
    """Take leave of the children that have answered."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _load_everything() -> None:
    """Import what any command loads, without running it."""
    cli = importlib.import_module("stoic.cli")
    for module in pkgutil.iter_modules(cli.__path__, "stoic.cli."):
        if module.name != "stoic.cli.demo_victim":
            importlib.import_module(module.name)
    stoic = importlib.import_module("stoic")
    for name in stoic.__all__:
        getattr(stoic, name)
    for name in ("stoic.testing", "stoic.core.classify.judge", "stoic.core.loops.engine", "stoic.tools.parameters"):
        importlib.import_module(name)


def _answer(asked: socket.socket) -> int:
    """Run what is asked for in a child, and say how it ended."""
    head, descriptors, _, _ = socket.recv_fds(asked, 4, 3)
    said = b""
    while len(said) < int.from_bytes(head, "big"):
        said += asked.recv(_LARGEST)
    child = os.fork()
    if child == 0:
        asked.close()
        _become(json.loads(said), descriptors)
    _, status = os.waitpid(child, 0)
    asked.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    return 0


def _become(request: list[Any], descriptors: list[int]) -> None:
    """Be the command that was asked for; never returns."""
    what, arguments, folder, environment = request
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    for stream in ("stdin", "stdout", "stderr"):
        number = ("stdin", "stdout", "stderr").index(stream)
        setattr(sys, stream, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    _exit_after(_run_stoic if what == "stoic" else _run_python, arguments)


def _exit_after(run: Callable[[list[str]], None], arguments: list[str]) -> None:
    """Run and exit as an interpreter would."""
    code: object = 0
    try:
        run(arguments)
    except SystemExit as ended:
        code = ended.code
    except BaseException as error:  # noqa: BLE001 - what an interpreter does with whatever ends a program
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _run_stoic(arguments: list[str]) -> None:
    from stoic.cli import main

    sys.argv = ["stoic", *arguments]
    main()


def _run_python(arguments: list[str]) -> None:
    """Run a file, which may await at its top level, as in `python -m asyncio`; warnings are errors."""
    warnings.simplefilter("error")
    sys.argv = arguments
    sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
    text = Path(arguments[0]).read_text(encoding="utf-8")
    code = compile(text, arguments[0], "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(code, {"__name__": "__main__"}))  # noqa: S307 - the page's own program
    else:
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1])
