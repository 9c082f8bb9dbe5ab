"""Built-in `remember` and `recall`: what agents of one scope keep across threads, found again by its words (SPEC §14)."""

from collections.abc import Sequence

from stoic.core.rows import kind_of
from stoic.errors import ToolDeclarationError
from stoic.moments import date_of
from stoic.ports import Store
from stoic.records import Memory
from stoic.tools.context import OperationId, ToolContext
from stoic.tools.declaration import Tool

RECALL = "recall"
LIMIT_CHARACTERS = 4_000
"""Of one memory's text."""
LIMIT_TAGS = 10
LIMIT_TAG_CHARACTERS = 50
LIMIT_RECALLED = 20
LIMIT_RESULT_CHARACTERS = 24_000
"""Shorter than what is cut and kept in a file: a memory is shown whole or not at all."""
_COMPARED = 20
_ECHOED = 100


def memory_tools(scope: str) -> list[Tool]:
    """Return `remember` and `recall` of one scope.

    `remember` is a write that concerns nothing but stoic's own log, and its operation's id is the memory's: repeated after a
    crash it stores nothing twice.

    Args:
        scope: whose memories these are, such as the agent's name; agents of one scope share them

    Raises:
        ToolDeclarationError: the scope is empty
    """
    if not scope.strip():
        raise ToolDeclarationError("memory_tools: the scope is empty; name whose memories these are")

    async def remember(text: str, operation: OperationId, context: ToolContext, tags: Sequence[str] = ()) -> str:
        """Keep a fact, a decision or a person's wish for later conversations; recall finds it by its words.

        Args:
            text: one thing, in a sentence or a few, understandable by itself; at most 4000 characters
            operation: given by the runtime
            context: given by the runtime
            tags: up to 10 further words to find it by
        """
        memory = Memory(
            id=f"call:{operation}",
            scope=scope,
            thread=context.thread,
            text=checked_text(text),
            tags=checked_tags(tags),
            created_at=context.now_ms,
        )
        await keep(context.store, memory)
        return f"Remembered: {memory.text[:_ECHOED]}{'…' if len(memory.text) > _ECHOED else ''}"

    async def recall(query: str, context: ToolContext, limit: int = 5) -> str:
        """Find what was remembered in earlier conversations. They were right when they were kept; check what may have changed.

        Args:
            query: words to look for, any of them; empty: the newest
            context: given by the runtime
            limit: how many at the most, 1 to 20
        """
        if limit not in range(1, LIMIT_RECALLED + 1):
            raise ValueError(f"limit is {limit}; it must be from 1 to {LIMIT_RECALLED}")
        found = await context.store.recall(scope, query, limit)
        withheld = await _withheld(context) if found else []
        return _shown([each for each in found if not any(each.text in text for text in withheld)])

    return [
        Tool(remember, effect="write", idempotent=True, internal=True),
        Tool(recall, name=RECALL, effect="read"),
    ]


async def keep(store: Store, memory: Memory) -> bool:
    """Store a memory unless one of equal text can be recalled in its scope; True: it is new. Raises StoreError."""
    near = await store.recall(memory.scope, memory.text, _COMPARED)
    return all(each.text != memory.text for each in near) and await store.remember(memory)


async def _withheld(context: ToolContext) -> list[str]:
    """Return the results of this thread's earlier recalls that no model may read any more: nothing in them is shown again."""
    rows = (await context.store.load(context.thread)).rows
    return [
        row.content["text"]
        for row in rows
        if kind_of(row) == "result"
        and row.content["tool"] == RECALL
        and (row.quarantine is not None or not row.visible)
    ]


def checked_text(text: str) -> str:
    """Return a memory's text without space around it. Raises ValueError if there is none, or too much."""
    plain = text.strip()
    if not plain:
        raise ValueError("there is nothing to remember: the text is empty")
    if len(plain) > LIMIT_CHARACTERS:
        raise ValueError(
            f"the text has {len(plain)} characters, and a memory at most {LIMIT_CHARACTERS}: keep what matters, or several "
            "memories"
        )
    return plain


def checked_tags(tags: Sequence[str]) -> list[str]:
    """Return a memory's tags without space around them. Raises ValueError if they are too many, or too long."""
    plain = [tag.strip() for tag in tags if tag.strip()]
    if len(plain) > LIMIT_TAGS or any(len(tag) > LIMIT_TAG_CHARACTERS for tag in plain):
        raise ValueError(f"at most {LIMIT_TAGS} tags of {LIMIT_TAG_CHARACTERS} characters each")
    return plain


def _shown(found: list[Memory]) -> str:
    """Return memories as a model reads them."""
    lines, length = list[str](), 0
    for number, memory in enumerate(found):
        tags = f" (tags: {', '.join(memory.tags)})" if memory.tags else ""
        line = f"- {date_of(memory.created_at):%Y-%m-%d}: {memory.text}{tags}"
        length += len(line)
        if length > LIMIT_RESULT_CHARACTERS:
            lines.append(f"[{len(found) - number} more were found; look for fewer or other words]")
            break
        lines.append(line)
    return "\n".join(lines) or "nothing that is remembered fits"
