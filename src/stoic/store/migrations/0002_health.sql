-- What is known of each route's health (SPEC §7), shared by all who use the database. The record is JSON; `route`,
-- `state` and `until_ms` stand beside it for people.

CREATE TABLE health (
  route TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  until_ms INTEGER,
  record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
