"""Pure decisions: values in, decision out; no clock, I/O, randomness, logging or asyncio."""
