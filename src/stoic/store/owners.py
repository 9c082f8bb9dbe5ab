"""Who holds a lease, and whether that process still lives: by boot and start time, never by pid alone."""

import calendar
import functools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from stoic.records import Owner

OWNER_TIMEOUT_MS = 15_000
"""An owner that cannot be looked at directly is dead after this long without heartbeat."""

IsAlive = Callable[[Owner], bool | None]
"""Whether an owner's process lives; None when it cannot be seen from here, so that its heartbeat decides."""

_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the Linux kernel, include/linux/proc_ns.h."""


def this_process(owner_id: str, now_ms: int) -> Owner:
    """Describe the running process as an owner.

    Args:
        owner_id: A new id; a process may be several owners.
        now_ms: Epoch milliseconds, the first heartbeat.
    """
    pid = os.getpid()
    return Owner(
        id=owner_id,
        host=_host(),
        boot_id=_boot_id(),
        pid=pid,
        started_at=_started_at(pid) or 0,
        heartbeat_at=now_ms,
    )


def process_is_alive(owner: Owner) -> bool | None:
    """Tell whether the owner's process lives; None when it cannot be seen from here."""
    if owner.host != _host():
        return None
    if owner.boot_id != _boot_id():
        return False
    started_at = _started_at(owner.pid)
    if started_at is not None:
        return started_at == owner.started_at
    return None if _is_hidden(owner.pid) else False


def heartbeat_only(owner: Owner) -> bool | None:  # noqa: ARG001 - the signature is IsAlive's
    """Look at no process: the heartbeat decides."""
    return None


def is_dead(owner: Owner, now_ms: int, is_alive: IsAlive, timeout_ms: int) -> bool:
    """Decide whether a lease may be taken from its owner: its process is gone, or it has shown no sign of life for long.

    A process that lives but is stopped or stuck loses its leases too; what it writes afterwards is fenced off.
    """
    return is_alive(owner) is False or now_ms - owner.heartbeat_at >= timeout_ms


@functools.cache
def _host() -> str:
    """Name the machine; a container that shares the name but not the process ids is another host."""
    name = socket.gethostname()
    if sys.platform != "linux":
        return name
    namespace = str(Path("/proc/self/ns/pid").readlink())
    return name if namespace == _INITIAL_PID_NAMESPACE else f"{name}/{namespace}"


@functools.cache
def _boot_id() -> str:
    if sys.platform == "linux":
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return _ask("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid")


def _started_at(pid: int) -> int | None:
    """Return when the process started, in ticks since boot (elsewhere than Linux: seconds); None: there is none.

    A zombie is none: it waits to be reaped and can write nothing any more.
    """
    if sys.platform != "linux":
        return _started_at_by_ps(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # proc_pid_stat(5): field 2 is the command's name in parentheses and may hold anything; 3 is the state, 22 the start.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def _started_at_by_ps(pid: int) -> int | None:
    answer = _ask("/bin/ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid))
    state, _, started = answer.partition(" ")
    if not started or state.startswith("Z"):
        return None
    return calendar.timegm(time.strptime(started.strip(), "%a %b %d %H:%M:%S %Y"))


def _ask(*command: str) -> str:
    environment = {"LC_ALL": "C", "TZ": "UTC"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout.strip()  # noqa: S603 - fixed programs, a number as argument


def _is_hidden(pid: int) -> bool:
    """Tell whether there is a process that /proc does not show us (mounted with hidepid)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # Ours to signal, so ours to see: it was a zombie, or it began after we looked.
    return False
