"""The shell: performs what the core decided, on one thread at a time under a lease."""
