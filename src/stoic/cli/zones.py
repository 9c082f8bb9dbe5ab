"""Tells the name of this machine's time zone."""

import os
from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_LOCALTIME = Path("/etc/localtime")
_TIMEZONE = Path("/etc/timezone")
_FOLDER = "/zoneinfo/"
_FALLBACK = "UTC"


def machine_zone(
    environment: Mapping[str, str] = os.environ, localtime: Path = _LOCALTIME, timezone: Path = _TIMEZONE
) -> str:
    """Return the zone's name: of `$TZ`, else of the system's files; `UTC` where none of them names one.

    Args:
        environment: `TZ` is read from it
        localtime: a link to the zone's file, on Linux and macOS
        timezone: a file with the name, on Debian
    """
    names = [
        environment.get("TZ", "").lstrip(":"),
        os.path.realpath(localtime).partition(_FOLDER)[2],
        _content(timezone),
    ]
    return next((name for name in names if name and _is_known(name)), _FALLBACK)


def _content(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _is_known(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
