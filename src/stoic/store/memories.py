"""What the SQLite store keeps of memories: stored once by their id, found by their words, forgotten for good."""

import msgspec

from stoic.records import Memory
from stoic.store.connection import Connection, Values
from stoic.store.encoding import to_json
from stoic.store.wording import indexed, terms_of

_COLUMNS = "memories.id, memories.scope, memories.thread, memories.text, memories.tags, memories.created_at"
_HAS_ENDED = "EXISTS (SELECT 1 FROM threads WHERE threads.id = {} AND threads.tombstone_seq > 0)"
# The column names are constants of this module, never anybody's input; a scope of NULL is any.
_INSERT = f"""
INSERT INTO memories (id, scope, thread, text, tags, created_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE NOT {_HAS_ENDED.format("?3")}
ON CONFLICT (id) DO NOTHING RETURNING position
"""
_INDEX = "INSERT INTO memory_words (rowid, words) VALUES (?, ?)"
_IN_SCOPE = "(?1 IS NULL OR memories.scope = ?1)"
_RECALL = f"""
SELECT {_COLUMNS} FROM memory_words JOIN memories ON memories.position = memory_words.rowid
WHERE memory_words MATCH ?2 AND {_IN_SCOPE} AND NOT {_HAS_ENDED.format("memories.thread")}
ORDER BY bm25(memory_words), memories.position DESC LIMIT ?3
"""  # noqa: S608
_RECALL_NEWEST = f"""
SELECT {_COLUMNS} FROM memories WHERE {_IN_SCOPE} AND NOT {_HAS_ENDED.format("memories.thread")}
ORDER BY memories.position DESC LIMIT ?2
"""  # noqa: S608
_LIST = f"SELECT {_COLUMNS} FROM memories WHERE {_IN_SCOPE} ORDER BY memories.position DESC LIMIT ?2"  # noqa: S608
_FORGET = f"DELETE FROM memories WHERE {_IN_SCOPE} AND id = ?2"  # noqa: S608


def remember(connection: Connection, memory: Memory) -> bool:
    """Store a memory; False: its id is known, or its thread ended by refusal. Raises StoreError."""
    to_json(memory, f"memory {memory.id}")
    tags = to_json(memory.tags, f"the tags of memory {memory.id}")
    values = (memory.id, memory.scope, memory.thread, memory.text, tags, memory.created_at)
    stored = connection.execute(_INSERT, values).fetchall()
    for (position,) in stored:
        connection.execute(_INDEX, (position, searched_text(memory)))
    return bool(stored)


def recall(connection: Connection, scope: str | None, query: str, limit: int) -> list[Memory]:
    """Return the memories that hold any of the query's words, the best match first; a query without words: the newest."""
    terms = terms_of(query)
    if not terms:
        found = connection.execute(_RECALL_NEWEST, (scope, limit))
    else:
        # A term has neither quotes nor operators: nothing that a person or a model writes is taken for syntax.
        found = connection.execute(_RECALL, (scope, " OR ".join(f'"{term}"' for term in terms), limit))
    return [_memory_from(values) for values in found]


def memories(connection: Connection, scope: str | None, limit: int) -> list[Memory]:
    """Return the memories, the newest first, also those that are not recalled any more."""
    return [_memory_from(values) for values in connection.execute(_LIST, (scope, limit))]


def forget(connection: Connection, scope: str | None, memory: str) -> bool:
    """Delete a memory; False: there is none."""
    connection.execute(_FORGET, (scope, memory))
    return connection.changes() > 0


def searched_text(memory: Memory) -> str:
    """Return the words a memory is found by, its own and its tags'."""
    return indexed("\n".join([memory.text, *memory.tags]))


def _memory_from(values: Values) -> Memory:
    memory_id, scope, thread, text, tags, created_at = values
    return Memory(
        id=memory_id,
        scope=scope,
        thread=thread,
        text=text,
        tags=msgspec.json.decode(tags, type=list[str]),
        created_at=created_at,
    )
