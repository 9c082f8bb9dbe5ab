-- What work has taken (SPEC §15), by day of UTC and by the thread at the top, whose tasks count as its own: a bound of a
-- thread or a day is looked at without reading what it has grown from. Empty `root`: threads that were deleted.

CREATE TABLE spending (
  day_ms INTEGER NOT NULL,
  root TEXT NOT NULL,
  rounds INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0,
  duration_ms INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (day_ms, root)
) STRICT, WITHOUT ROWID;

CREATE INDEX spending_by_root ON spending (root);

-- What was sent before this table was there; how long it took is not counted.
INSERT INTO spending (day_ms, root, rounds, tokens, cost_usd)
SELECT
  told.created_at - told.created_at % 86400000,
  coalesce(threads.meta ->> '$.root', threads.id),
  sum(told.kind = 'reply'),
  sum(coalesce(told.said ->> '$.usage.input_tokens', 0) + coalesce(told.said ->> '$.usage.output_tokens', 0)),
  sum(coalesce(told.said ->> '$.cost_usd', 0.0))
FROM (
  SELECT thread, kind, created_at, CASE WHEN meta ->> '$.usage' IS NULL THEN content ELSE meta END AS said
  FROM rows WHERE kind <> 'outcome'
) AS told JOIN threads ON threads.id = told.thread
WHERE told.kind = 'reply' OR told.said ->> '$.usage' IS NOT NULL
GROUP BY 1, 2;

-- Deleting a thread does not make a day cheaper.
CREATE TRIGGER threads_leave_what_they_spent AFTER DELETE ON threads
BEGIN
  INSERT INTO spending (day_ms, root, rounds, tokens, cost_usd, duration_ms)
  SELECT day_ms, '', rounds, tokens, cost_usd, duration_ms FROM spending WHERE root = OLD.id
  ON CONFLICT (day_ms, root) DO UPDATE SET
    rounds = rounds + excluded.rounds, tokens = tokens + excluded.tokens, cost_usd = cost_usd + excluded.cost_usd,
    duration_ms = duration_ms + excluded.duration_ms;
  DELETE FROM spending WHERE root = OLD.id;
END;
