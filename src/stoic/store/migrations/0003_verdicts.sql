-- What a person is told (SPEC §13), which requests were refused (SPEC §8), and what the loop detector knows of a thread
-- (SPEC §11).

CREATE TABLE notices (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  key TEXT NOT NULL UNIQUE,
  thread TEXT NOT NULL,
  kind TEXT NOT NULL,
  priority TEXT NOT NULL CHECK (priority IN ('normal', 'critical')),
  text TEXT NOT NULL,
  actions TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'sent', 'folded', 'failed')),
  attempts INTEGER NOT NULL DEFAULT 0,
  settled_at INTEGER,
  retry_at INTEGER,
  error TEXT,
  -- The names of the channels that have it, as a JSON list.
  delivered TEXT NOT NULL DEFAULT '[]'
) STRICT;

CREATE INDEX notices_by_state ON notices (state, position);
CREATE INDEX notices_sent ON notices (settled_at) WHERE state = 'sent';

CREATE TABLE refused_bytes (
  hash TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  refused_at_ms INTEGER NOT NULL,
  scope TEXT NOT NULL,
  "where" TEXT NOT NULL,
  category TEXT,
  PRIMARY KEY (hash, provider, model)
) STRICT, WITHOUT ROWID;

CREATE INDEX refused_bytes_by_time ON refused_bytes (refused_at_ms);

ALTER TABLE threads ADD COLUMN guard TEXT;

-- What a running turn wants to hear of at once.
DROP INDEX inbox_cancels;
CREATE INDEX inbox_calls ON inbox (position) WHERE taken = 0 AND kind IN ('cancel', 'event');
