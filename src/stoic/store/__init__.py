"""The log: adapters of the `Store` port on SQLite and in memory, which enforce the same rules."""
