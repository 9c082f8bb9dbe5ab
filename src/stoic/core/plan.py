"""What shapes a turn besides the log: route, tools, permissions and bounds, fixed while a generator lives."""

from typing import Literal

from stoic.core.budget import Limits
from stoic.core.commands import Route, ToolFacts
from stoic.core.health import HealthPolicy, Signs
from stoic.core.output import OutputFacts
from stoic.core.retry import RetryPolicy
from stoic.records import Price, Record

Permission = Literal["allow", "ask", "deny"]


class Candidate(Record, frozen=True):
    """A route that may answer."""

    route: Route
    key: str
    """What its breaker is called: provider, endpoint, credential and model."""
    signs: Signs = Signs(credential="", config="")
    price: Price | None = None
    """None: no cost can be told."""


class Plan(Record, frozen=True):
    """One turn's settings; two generators with equal plans and equal histories do the same."""

    candidates: list[Candidate]
    """The bound route first, then those that may stand in for it while it does not answer."""
    fingerprint: str
    """Of everything that shapes the request's prefix (`core.segment`)."""
    tools: dict[str, ToolFacts] = {}
    permissions: dict[str, Permission] = {}
    """By effect; an effect not named may run."""
    session: str = ""
    """Names the sitting for which a person's "for this session" holds."""
    limits: Limits = Limits()
    retry: RetryPolicy = RetryPolicy()
    health_policy: HealthPolicy = HealthPolicy()
    output: OutputFacts | None = None
    """The type that the final answer must be a value of."""


ASK_FOR_EFFECTS: dict[str, Permission] = {"write": "ask", "send": "ask", "exec": "ask"}
"""SPEC §10: these ask until a person said otherwise; `read`, `poll` and `wait` do not."""
DENY_EFFECTS: dict[str, Permission] = {"write": "deny", "send": "deny", "exec": "deny"}
"""For a run that nobody watches and that was not allowed anything."""
