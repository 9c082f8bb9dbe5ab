"""Holds back Python's search for cyclic garbage while a long log is read: thousands of new objects, none of them garbage."""

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_lock = threading.Lock()
_holds = 0
_was_enabled = False


@contextmanager
def collection_held() -> Generator[None]:
    """Collect nothing meanwhile, whoever else does the same; a caller that had switched it off finds it off."""
    global _holds, _was_enabled  # noqa: PLW0603 - the collector is the process's, and so is the count of who holds it
    with _lock:
        if _holds == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _holds += 1
    try:
        yield
    finally:
        with _lock:
            _holds -= 1
            if _holds == 0 and _was_enabled:
                gc.enable()
