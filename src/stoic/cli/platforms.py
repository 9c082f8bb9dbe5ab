"""The platforms stoic runs on, said before anything is loaded that another one does not have."""

SUPPORTED = {"linux": "Linux", "darwin": "macOS"}
"""By `sys.platform`; leases, locks, process groups and terminals are used as these two have them."""


def objection_to(platform: str) -> str | None:
    """Say why stoic does not run on a platform, in one line; None: it does.

    Args:
        platform: as `sys.platform` names it
    """
    if platform in SUPPORTED:
        return None
    other = " On Windows, run it in WSL." if platform in {"win32", "cygwin"} else ""
    return f"this platform ({platform}) is not supported; stoic runs on {' and '.join(SUPPORTED.values())}.{other}"
