"""A process of its own on the log: run as `child.py COMMAND PATH …`; speaks through its pipes."""

import asyncio
import os
import sys

from stoic.errors import StoreError
from stoic.ports import HeldLeaseError
from stoic.records import Row, Step, ThreadRecord
from stoic.store.owners import this_process
from stoic.store.sqlite import SqliteStore

NOBODY = 65534


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def row(thread, seq):
    return Row(
        id=f"{thread}-{seq}",
        thread=thread,
        seq=seq,
        generation=1,
        segment="s",
        turn=1,
        round=1,
        role="tool",
        kind="result",
        content={"text": f"{thread} {seq} " * 20},
        created_at=1,
        visible=True,
    )


async def leased(path, thread):
    store = SqliteStore(path)
    await store.open()
    owner = this_process(f"owner-{os.getpid()}-{thread}", 0)
    await store.register(owner)
    await store.create_thread(ThreadRecord(id=thread))
    return store, await store.acquire(thread, owner.id, 0)


async def hold(path, thread):
    """Take the lease and keep it until stdin ends."""
    store, lease = await leased(path, thread)
    await store.append(lease, Step(rows=[row(thread, 1)]))
    say("held")
    sys.stdin.read()
    await store.close()


async def compete(path, thread):
    """Try to take the lease; say how it went."""
    try:
        store, lease = await leased(path, thread)
    except HeldLeaseError as held:
        say(f"held by {held.owner.pid}")
        return
    say(f"epoch {lease.epoch} after seq {lease.last_seq}")
    await store.close()


async def append(path, thread, count):
    """Wait for the start, append rows, say `done`."""
    say("ready")
    sys.stdin.readline()
    store, lease = await leased(path, thread)
    for seq in range(1, int(count) + 1):
        await store.append(lease, Step(rows=[row(thread, seq)], accept_upto=seq))
    await store.close()
    say("done")


async def storm(path, thread):
    """Append for ever, saying each seq that is stored."""
    store, lease = await leased(path, thread)
    seq = 0
    while True:
        seq += 1
        await store.append(lease, Step(rows=[row(thread, seq)], accept_upto=seq))
        say(seq)


async def open_without_rights(path):
    """Open the file as a user who may not write it; say the error."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    store = SqliteStore(path)
    try:
        await store.open()
    except StoreError as error:
        say(error)


COMMANDS = {function.__name__: function for function in (hold, compete, append, storm, open_without_rights)}

if __name__ == "__main__":
    asyncio.run(COMMANDS[sys.argv[1]](*sys.argv[2:]))
