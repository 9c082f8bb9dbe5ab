-- What agents remember across threads (SPEC §14), by scope. `memory_words` holds no text of its own, only the index of the
-- words, which `store/wording.py` folds and separates; a contentless table, so a memory is stored once.

CREATE TABLE memories (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  scope TEXT NOT NULL,
  -- Where it was learnt; empty: that thread was deleted.
  thread TEXT NOT NULL,
  text TEXT NOT NULL,
  -- A JSON list.
  tags TEXT NOT NULL DEFAULT '[]',
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX memories_by_scope ON memories (scope, position);
CREATE INDEX memories_by_thread ON memories (thread);

CREATE VIRTUAL TABLE memory_words USING fts5 (
  words, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);

CREATE TRIGGER memories_take_their_words_along AFTER DELETE ON memories
BEGIN
  DELETE FROM memory_words WHERE rowid = OLD.position;
END;

-- A memory outlives its thread, and then leaves its id and the thread's to the next one of that name. It goes with a thread
-- that ended by refusal: without the tombstone nothing would keep it out of recall.
CREATE TRIGGER threads_leave_their_memories AFTER DELETE ON threads
BEGIN
  DELETE FROM memories WHERE thread = OLD.id AND OLD.tombstone_seq > 0;
  UPDATE memories SET id = 'kept:' || position, thread = '' WHERE thread = OLD.id;
END;
