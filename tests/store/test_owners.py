"""Whether an owner lives: by boot and start time, never by pid alone."""

import os
import subprocess
import sys

from msgspec import structs

from stoic.store.owners import OWNER_TIMEOUT_MS, is_dead, process_is_alive, this_process


def test_this_process_lives():
    owner = this_process("me", 5)
    assert (owner.id, owner.pid, owner.heartbeat_at) == ("me", os.getpid(), 5)
    assert process_is_alive(owner) is True


def test_the_same_pid_with_another_start_time_is_dead():
    owner = this_process("me", 0)
    assert process_is_alive(structs.replace(owner, started_at=owner.started_at - 1)) is False


def test_a_process_of_an_earlier_boot_is_dead():
    assert process_is_alive(structs.replace(this_process("me", 0), boot_id="earlier")) is False


def test_a_process_of_another_host_cannot_be_seen():
    owner = structs.replace(this_process("me", 0), host="elsewhere", boot_id="other")
    assert process_is_alive(owner) is None


def test_a_process_that_ended_is_dead_before_and_after_it_is_reaped():
    asks = "from stoic.store.owners import this_process as t; import msgspec; print(msgspec.json.encode(t('x', 0)).decode())"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{asks}; import sys; sys.stdout.flush(); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    started_at = int(process.stdout.readline().partition('"started_at":')[2].split(",")[0].strip("}\n"))
    owner = structs.replace(this_process("x", 0), pid=process.pid, started_at=started_at)
    assert process_is_alive(owner) is True
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process_is_alive(owner) is False
    process.communicate()
    assert process_is_alive(owner) is False


def test_an_owner_is_dead_when_its_process_is_gone_or_its_heartbeat_is_old():
    owner = structs.replace(this_process("me", 0), heartbeat_at=1_000)
    late = 1_000 + OWNER_TIMEOUT_MS
    for answer, now_ms, dead in (
        (True, late - 1, False),
        (True, late, True),
        (False, 1_000, True),
        (None, late - 1, False),
        (None, late, True),
    ):
        assert is_dead(owner, now_ms, lambda _, answer=answer: answer, OWNER_TIMEOUT_MS) is dead
