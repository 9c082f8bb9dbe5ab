"""What the SQLite store keeps of what work has taken, by day and by the thread at the top."""

from stoic.records import DAY_MS, Spending, Spent
from stoic.store.connection import Connection

_FIGURES = "rounds, tokens, cost_usd, duration_ms"
# The column names are constants of this module, never anybody's input.
_ADD = f"""
INSERT INTO spending (day_ms, root, {_FIGURES})
SELECT ?, coalesce(meta ->> '$.root', id), ?, ?, ?, ? FROM threads WHERE id = ?
ON CONFLICT (day_ms, root) DO UPDATE SET
  rounds = rounds + excluded.rounds, tokens = tokens + excluded.tokens, cost_usd = cost_usd + excluded.cost_usd,
  duration_ms = duration_ms + excluded.duration_ms
"""  # noqa: S608
_SUM = """
SELECT coalesce(sum(rounds), 0), coalesce(sum(tokens), 0), coalesce(sum(cost_usd), 0.0), coalesce(sum(duration_ms), 0)
FROM spending
"""
_ALL = f"SELECT day_ms, root, {_FIGURES} FROM spending"  # noqa: S608


def add(connection: Connection, thread: str, at_ms: int, spent: Spent) -> None:
    """Add what a step of a thread has taken to that day's."""
    figures = (spent.rounds, spent.tokens, spent.cost_usd, spent.duration_ms)
    connection.execute(_ADD, (at_ms - at_ms % DAY_MS, *figures, thread))


def spent(connection: Connection, root: str | None, since_ms: int) -> Spent:
    """Return what a thread and the tasks below it, or all, have taken since the day of that time."""
    where, bindings = _condition(root, since_ms)
    rounds, tokens, cost_usd, duration_ms = connection.execute(_SUM + where, bindings).fetchall()[0]
    return Spent(rounds=rounds, tokens=tokens, cost_usd=cost_usd, duration_ms=duration_ms)


def spending(connection: Connection, root: str | None, since_ms: int) -> list[Spending]:
    """Return the same by day and thread, the newest day first, the dearest thread before the others."""
    where, bindings = _condition(root, since_ms)
    found = connection.execute(f"{_ALL}{where} ORDER BY day_ms DESC, cost_usd DESC, tokens DESC, root", bindings)
    return [
        Spending(
            day_ms=day_ms,
            root=root_id,
            spent=Spent(rounds=rounds, tokens=tokens, cost_usd=cost_usd, duration_ms=duration_ms),
        )
        for day_ms, root_id, rounds, tokens, cost_usd, duration_ms in found
    ]


def _condition(root: str | None, since_ms: int) -> tuple[str, tuple[int | str, ...]]:
    since = since_ms - since_ms % DAY_MS
    return (" WHERE day_ms >= ?", (since,)) if root is None else (" WHERE root = ? AND day_ms >= ?", (root, since))
