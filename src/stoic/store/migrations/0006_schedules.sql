-- Prompts that come into a thread's inbox by the clock. `next_due_at` moves on in the same transaction that enters one.

CREATE TABLE schedules (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  thread TEXT NOT NULL REFERENCES threads (id),
  -- As it was typed, and what it was understood as.
  expression TEXT NOT NULL,
  cron TEXT NOT NULL,
  zone TEXT NOT NULL,
  prompt TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  next_due_at INTEGER NOT NULL,
  last_fired_at INTEGER,
  paused INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX schedules_by_thread ON schedules (thread);

CREATE TRIGGER schedules_go_with_their_thread AFTER DELETE ON threads
BEGIN
  DELETE FROM schedules WHERE thread = OLD.id;
END;
