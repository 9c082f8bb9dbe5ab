"""Names the kinds of difference that are no news."""

NOISES = (
    "times",
    "durations",
    "process ids",
    "request ids",
    "nonces",
    "ids of what was created",
    "names of temporary files",
    "paging or limit arguments",
    "spelling or order of the arguments",
)
"""What may differ between equal calls; a bit each, in this order."""
TIMES, DURATIONS, PIDS, REQUESTS, NONCES, CREATED, FILES, PAGING, SPELLING = (1 << bit for bit in range(len(NOISES)))


def noise_names(bits: int) -> list[str]:
    """Name the kinds of noise of a bit set."""
    return [name for place, name in enumerate(NOISES) if bits >> place & 1]
