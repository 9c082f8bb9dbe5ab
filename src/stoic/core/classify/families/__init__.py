"""One table for each provider: its own codes, and the texts it is known to use where it has no code."""
