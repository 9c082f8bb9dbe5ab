"""One reader for each API shape: what a reply holds, whole or streamed."""
