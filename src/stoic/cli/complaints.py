"""What comes to stderr from places that know nothing of terminals, made harmless: warnings, and the traceback of a bug."""

import logging
import sys
import traceback


class HarmlessHandler(logging.Handler):
    """Writes warnings that no other handler takes; their texts may be anybody's."""

    def __init__(self) -> None:
        """Take what is at least a warning."""
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one warning on a line."""
        from stoic.cli.cleaning import one_line, stripped

        print(f"stoic: {one_line(record.getMessage())}", file=sys.stderr)
        if record.exc_info:
            sys.stderr.write(stripped("".join(traceback.format_exception(*record.exc_info))))


def tell_traceback() -> None:
    """Write the traceback of the exception that is handled."""
    from stoic.cli.cleaning import stripped

    sys.stderr.write(stripped(traceback.format_exc()))
