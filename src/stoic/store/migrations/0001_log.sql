-- The log (SPEC §4). Columns that hold JSON are TEXT, so `content ->> '$.text'` works in plain SQL; NULL is the
-- default of the field (no view of its own, empty meta).

CREATE TABLE owners (
  id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  heartbeat_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE threads (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  scope TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- Facts folded from the rows, so that a step is checked without reading them.
  last_seq INTEGER NOT NULL DEFAULT 0,
  accepted_upto INTEGER NOT NULL DEFAULT 0,
  generation INTEGER NOT NULL DEFAULT 0,
  tombstone_seq INTEGER NOT NULL DEFAULT 0,
  -- The lease: `owner` holds it under `epoch`; NULL: free.
  epoch INTEGER NOT NULL DEFAULT 0,
  owner TEXT REFERENCES owners (id),
  title TEXT,
  meta TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX threads_by_age ON threads (created_at, id);

CREATE TABLE rows (
  thread TEXT NOT NULL REFERENCES threads (id),
  seq INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  generation INTEGER NOT NULL,
  segment TEXT NOT NULL,
  turn INTEGER NOT NULL,
  round INTEGER NOT NULL,
  role TEXT NOT NULL,
  kind TEXT NOT NULL,
  visible INTEGER NOT NULL,
  quarantine TEXT CHECK (quarantine IN ('placeholder', 'excluded')),
  accepted INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  content TEXT NOT NULL,
  view TEXT,
  meta TEXT,
  UNIQUE (thread, seq)
) STRICT;

CREATE TABLE operations (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  thread TEXT NOT NULL REFERENCES threads (id),
  turn INTEGER NOT NULL,
  round INTEGER NOT NULL,
  "index" INTEGER NOT NULL,
  tool TEXT NOT NULL,
  effect TEXT NOT NULL,
  arguments_key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('intended', 'running', 'returned', 'raised', 'unknown')),
  started_at INTEGER,
  ended_at INTEGER,
  status TEXT,
  runs INTEGER NOT NULL
) STRICT;

CREATE INDEX operations_by_thread ON operations (thread, position);
CREATE INDEX operations_open ON operations (thread, position) WHERE state IN ('intended', 'running', 'unknown');

CREATE TABLE inbox (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  thread TEXT NOT NULL REFERENCES threads (id),
  kind TEXT NOT NULL,
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  taken INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX inbox_waiting ON inbox (thread, position) WHERE taken = 0;
CREATE INDEX inbox_cancels ON inbox (position) WHERE taken = 0 AND kind = 'cancel';

-- The log defends itself, whoever writes to it.

CREATE TRIGGER rows_accepted_are_final BEFORE UPDATE ON rows WHEN OLD.accepted
BEGIN
  SELECT RAISE(ABORT, 'an accepted row never changes');
END;

CREATE TRIGGER rows_are_append_only
BEFORE UPDATE OF thread, seq, id, generation, segment, turn, round, role, kind, visible, created_at, content, meta
ON rows WHEN NOT OLD.accepted
BEGIN
  SELECT RAISE(ABORT, 'of a row only view, quarantine and acceptance may change');
END;

CREATE TRIGGER rows_go_with_their_thread BEFORE DELETE ON rows
WHEN EXISTS (SELECT 1 FROM threads WHERE id = OLD.thread)
BEGIN
  SELECT RAISE(ABORT, 'rows are deleted only with their whole thread');
END;

-- INSERT OR REPLACE deletes without the trigger above.
CREATE TRIGGER rows_are_not_replaced BEFORE INSERT ON rows
WHEN EXISTS (SELECT 1 FROM rows WHERE id = NEW.id)
  OR NEW.seq <= (SELECT last_seq FROM threads WHERE id = NEW.thread)
BEGIN
  SELECT RAISE(ABORT, 'a stored row is never written again');
END;

CREATE TRIGGER threads_take_their_rows_along AFTER DELETE ON threads
BEGIN
  DELETE FROM rows WHERE thread = OLD.id;
  DELETE FROM operations WHERE thread = OLD.id;
  DELETE FROM inbox WHERE thread = OLD.id;
END;
