"""What shapes a turn besides the log: route, tools, permissions and bounds, fixed while a generator lives."""

from typing import Literal

from stoic.core.commands import Limits, Route, ToolFacts
from stoic.core.retry import RetryPolicy
from stoic.records import Record

Permission = Literal["allow", "ask", "deny"]


class Plan(Record, frozen=True):
    """One turn's settings; two generators with equal plans and equal histories do the same."""

    route: Route
    fingerprint: str
    """Of everything that shapes the request's prefix (`core.segment`)."""
    tools: dict[str, ToolFacts] = {}
    permissions: dict[str, Permission] = {}
    """By effect; an effect not named may run."""
    session: str = ""
    """Names the sitting for which a person's "for this session" holds."""
    limits: Limits = Limits()
    retry: RetryPolicy = RetryPolicy()


ASK_FOR_EFFECTS: dict[str, Permission] = {"write": "ask", "send": "ask", "exec": "ask"}
"""SPEC §10: these ask until a person said otherwise; `read`, `poll` and `wait` do not."""
DENY_EFFECTS: dict[str, Permission] = {"write": "deny", "send": "deny", "exec": "deny"}
"""For a run that nobody watches and that was not allowed anything."""
