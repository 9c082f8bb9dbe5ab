"""The command line: `main` is the `stoic` script; commands load what they need when they run."""

import os
import sys


def main() -> None:
    """Run the command line and exit with one of the codes of `stoic.cli.exits`."""
    _make_streams_safe()
    from stoic.cli.platforms import objection_to

    objection = objection_to(sys.platform)
    if objection is not None:
        print(f"stoic: {objection}", file=sys.stderr)
        sys.exit(2)
    from stoic.cli.app import run_app

    code = run_app(sys.argv[1:])
    sys.exit(_flush() or code)


def _flush() -> int:
    """Write what is still buffered; return 0, or the exit code of an output that is gone."""
    try:
        sys.stdout.flush()
    except OSError as error:
        from stoic.cli.exits import OUTPUT_LOST

        if not isinstance(error, BrokenPipeError):
            print(f"stoic: the output cannot be written ({error.strerror})", file=sys.stderr)
        # The interpreter flushes once more at its end and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OUTPUT_LOST
    return 0


def _make_streams_safe() -> None:
    """Give closed streams a place to write to, and let no character be one that cannot be written."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - None when the descriptor is closed
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 - lives as long as the process
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - as above
        else:
            stream.reconfigure(errors="backslashreplace")
