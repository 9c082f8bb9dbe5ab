-- Which threads have something to do (SPEC §15), and what tasks have delivered to their owners (SPEC §12).

ALTER TABLE threads ADD COLUMN phase TEXT NOT NULL DEFAULT 'idle' CHECK (phase IN ('idle', 'open', 'parked'));
-- What a parked turn waits for, as JSON, and when it is to be looked at whatever comes.
ALTER TABLE threads ADD COLUMN parked TEXT;
ALTER TABLE threads ADD COLUMN wake_at_ms INTEGER;

UPDATE threads SET phase = 'open' WHERE EXISTS (
  SELECT 1 FROM rows AS opening
  WHERE opening.thread = threads.id AND opening.kind IN ('message', 'event', 'wake', 'grant') AND NOT EXISTS (
    SELECT 1 FROM rows AS ending
    WHERE ending.thread = opening.thread AND ending.turn = opening.turn AND ending.kind = 'outcome'
  )
);

CREATE INDEX threads_by_phase ON threads (phase, wake_at_ms) WHERE phase <> 'idle';
CREATE INDEX threads_by_owner ON threads (meta ->> '$.owner') WHERE meta ->> '$.owner' IS NOT NULL;
CREATE INDEX threads_by_root ON threads (meta ->> '$.root') WHERE meta ->> '$.root' IS NOT NULL;
CREATE INDEX rows_tombstones ON rows (content ->> '$.root', content ->> '$.brief') WHERE kind = 'refusal_stop';

CREATE INDEX operations_unknown ON operations (thread, position) WHERE state = 'unknown';

CREATE TABLE deliveries (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  task TEXT NOT NULL,
  turn INTEGER NOT NULL,
  owner TEXT,
  status TEXT NOT NULL CHECK (status IN ('delivered', 'failed', 'cancelled')),
  receipt TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- Whether the owner was there to get it.
  reached INTEGER NOT NULL
) STRICT;

CREATE INDEX deliveries_by_task ON deliveries (task, position);
CREATE INDEX deliveries_by_owner ON deliveries (owner, position) WHERE owner IS NOT NULL;

CREATE TRIGGER threads_take_their_deliveries_along AFTER DELETE ON threads
BEGIN
  DELETE FROM deliveries WHERE task = OLD.id;
END;
