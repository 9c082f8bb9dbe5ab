"""`stoic memory`: what agents have remembered, for a person to look through, search, add to and delete."""

import asyncio
import os
from typing import IO

from stoic.cli import exits
from stoic.cli.cleaning import json_text, one_line
from stoic.cli.opening import log_to_list, opened, opened_log, require_log
from stoic.cli.screen import Style
from stoic.cli.timeline import moment
from stoic.errors import UsageError
from stoic.records import Memory, Record
from stoic.settings import read_settings
from stoic.tools.memories import checked_tags, checked_text, keep
from stoic.wiring import Runtime

_ALL = 1_000_000
_NAMED = 20
"""So many scopes are named where one is not known."""


class MemoryLine(Record, frozen=True, omit_defaults=False):
    """One memory for programs."""

    id: str
    scope: str
    """Whose it is; agents of one scope share it."""
    thread: str
    """Where it was learnt; empty: a person added it, or that thread was deleted."""
    text: str
    tags: list[str]
    created_at: int
    """Epoch milliseconds."""


def list_memories(*, scope: str | None, limit: int, as_json: bool, stdout: IO[str]) -> int:
    """Print the memories, the newest first, also those that agents do not recall any more.

    Args:
        scope: of one scope; None: of all
        limit: how many at the most
        as_json: one JSON object a line
        stdout: where to
    """
    if not log_to_list():
        return exits.COMPLETED
    found = asyncio.run(_list(scope, limit))
    unknown = None if found or scope is None else asyncio.run(_unknown(scope))
    return _print(found, unknown or "nothing is remembered yet\n", as_json=as_json, stdout=stdout)


def search_memories(query: str, *, scope: str | None, limit: int, as_json: bool, stdout: IO[str]) -> int:
    """Print the memories that an agent would recall, the best match first; arguments as above."""
    if not log_to_list():
        return exits.COMPLETED
    found = asyncio.run(_search(query, scope, limit))
    unknown = None if found or scope is None else asyncio.run(_unknown(scope))
    return _print(found, unknown or "nothing that is remembered fits\n", as_json=as_json, stdout=stdout)


def add_memory(text: str, *, scope: str, tags: list[str], stdout: IO[str]) -> int:
    """Remember something for the agents of a scope, by the rules that they remember by themselves.

    Args:
        text: one thing, understandable by itself
        scope: whose agents recall it
        tags: further words to find it by
        stdout: where to

    Raises:
        UsageError: there is no text or no scope, or too much of one
    """
    if not scope.strip():
        raise UsageError("--scope is empty; name whose memory this is, such as an agent's name")
    try:
        said, words = checked_text(text), checked_tags(tags)
    except ValueError as error:
        raise UsageError(str(error)) from None
    added = asyncio.run(_add(said, scope, words))
    stdout.write(f"remembered as {added}\n" if added else "this is remembered already; nothing was added\n")
    return exits.COMPLETED


def forget_memory(memory: str, *, scope: str | None, stdout: IO[str]) -> int:
    """Delete a memory for good.

    Raises:
        UsageError: there is no such memory
    """
    require_log(f"there is no memory {memory!r}")
    if not asyncio.run(_forget(memory, scope)):
        within = "" if scope is None else f" in scope {scope!r}"
        raise UsageError(f"there is no memory {memory!r}{within}; `stoic memory list` shows those there are")
    stdout.write(f"forgot {one_line(memory)}\n")
    return exits.COMPLETED


async def _list(scope: str | None, limit: int) -> list[Memory]:
    async with opened_log() as store:
        return await store.memories(scope, limit or _ALL)


async def _unknown(scope: str) -> str | None:
    """Say that a scope holds nothing, and which do; None: it holds something, or none does."""
    async with opened_log() as store:
        scopes = sorted({each.scope for each in await store.memories(None, _ALL)})
    if scope in scopes or not scopes:
        return None
    more = len(scopes) - _NAMED
    named = ", ".join(map(one_line, scopes[:_NAMED])) + (f" and {more} more" if more > 0 else "")
    return f"nothing is remembered in scope {one_line(scope)}; there {'is' if len(scopes) == 1 else 'are'} {named}\n"


async def _search(query: str, scope: str | None, limit: int) -> list[Memory]:
    async with opened_log() as store:
        return await store.recall(scope, query, limit or _ALL)


async def _add(text: str, scope: str, tags: list[str]) -> str | None:
    """Return the new memory's id; None: an equal text is remembered in the scope."""
    async with opened(Runtime(settings=read_settings(), delivers_notices=False)) as runtime:
        outside = runtime.outside
        memory = Memory(
            id=f"hand:{outside.ids.new()}",
            scope=scope,
            thread="",
            text=text,
            created_at=outside.clock.now_ms(),
            tags=tags,
        )
        return memory.id if await keep(outside.store, memory) else None


async def _forget(memory: str, scope: str | None) -> bool:
    async with opened_log() as store:
        return await store.forget(scope, memory)


def _print(found: list[Memory], nothing: str, *, as_json: bool, stdout: IO[str]) -> int:
    if as_json:
        for each in found:
            stdout.write(json_text(_line(each)) + "\n")
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    for each in found:
        tags = f" · {', '.join(map(one_line, each.tags))}" if each.tags else ""
        where = f" · thread {one_line(each.thread)}" if each.thread else ""
        facts = f"{one_line(each.scope)}{where} · {moment(each.created_at)}{tags}"
        stdout.write(f"{one_line(each.id)}  {style(facts, 'dim')}\n  {one_line(each.text)}\n")
    if not found:
        stdout.write(nothing)
    return exits.COMPLETED


def _line(memory: Memory) -> MemoryLine:
    return MemoryLine(
        id=memory.id,
        scope=memory.scope,
        thread=memory.thread,
        text=memory.text,
        tags=memory.tags,
        created_at=memory.created_at,
    )
