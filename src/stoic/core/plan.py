"""What shapes a turn besides the log: route, tools, permissions and bounds, fixed while a generator lives."""

from collections.abc import Callable, Mapping
from typing import Literal

from stoic.core.budget import Limits
from stoic.core.commands import Route, ToolFacts
from stoic.core.health import HealthPolicy, Signs
from stoic.core.output import OutputFacts
from stoic.core.refusal import ThreadKind
from stoic.core.retry import RetryPolicy
from stoic.core.segment import Shape
from stoic.records import Json, Price, Record, RefusedBytes

Permission = Literal["allow", "ask", "deny"]


class Candidate(Record, frozen=True):
    """A route that may answer."""

    route: Route
    key: str
    """What its breaker is called: provider, endpoint, credential and model."""
    signs: Signs = Signs(credential="", config="")
    credential_from: str = ""
    """The variable or file that holds its credential, as far as that is known."""
    price: Price | None = None
    """None: no cost can be told."""
    compact_above_tokens: int | None = None
    """When an exchange took more than that, the beginning of the conversation is summed up before the next round; None: the
    size of the model's context window is not known."""


class TaskFacts(Record, frozen=True):
    """What a task's turn has to know of where it belongs."""

    owner: str | None = None
    """The thread that hears of its end."""
    root: str | None = None
    """The thread at the top: an owner whose own owner it is, and so on."""
    refused_before: list[RefusedBytes] = []
    """Who has refused an equal brief under the same root."""
    has_kin: bool = False
    """Whether it has an owner or may have tasks: a call whose effect is unknown there is not repeated here."""


class Plan(Record, frozen=True):
    """One turn's settings; two generators with equal plans and equal histories do the same."""

    candidates: list[Candidate]
    """The bound route first, then those that may stand in for it while it does not answer."""
    fingerprint: str
    """Of everything that shapes the request's prefix (`core.segment`)."""
    shape: Shape = {}
    """The same, part by part: what changed when a segment opens can be told by it."""
    tools: dict[str, ToolFacts] = {}
    mode: str = ""
    """The agent's mode, where it leaves tools out."""
    left_out: frozenset[str] = frozenset()
    """The agent's tools that its mode does not have."""
    permissions: dict[str, Permission] = {}
    """By effect; an effect not named may run."""
    session: str = ""
    """Names the sitting for which a person's "for this session" holds."""
    limits: Limits = Limits()
    retry: RetryPolicy = RetryPolicy()
    health_policy: HealthPolicy = HealthPolicy()
    thread_kind: ThreadKind = "chat"
    thread_scope: Literal["main", "worker"] = "main"
    task: TaskFacts = TaskFacts()
    is_attended: bool = True
    """Whether somebody is there to be asked at once; else a notice says what waits."""
    is_interrupted: bool = False
    """Whether the task cannot go on: its turn is ended and delivered, and nothing is sent."""
    asks_again: Permission = "ask"
    """What becomes of a brief that another provider has refused: a person is asked, it is allowed or denied."""
    renderers: Mapping[str, Callable[[Json], str]] = {}
    """By kind of event: how its payload is told with less, while the whole is withheld (SPEC §9)."""
    output: OutputFacts | None = None
    """The type that the final answer must be a value of."""


ASK_FOR_EFFECTS: dict[str, Permission] = {"write": "ask", "send": "ask", "exec": "ask"}
"""SPEC §10: these ask until a person said otherwise; `read`, `poll` and `wait` do not."""
