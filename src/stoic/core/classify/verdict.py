"""The verdict on one report: which failure it is, what it recovers with, and which field said so."""

from stoic.core.failures import Axis, FailureClass
from stoic.record import Record


class Evidence(Record, frozen=True):
    """One field of the exchange that decided something; never the body of a refusal."""

    field: str
    """Where it stands, such as `body.error.code`, `status`, `headers.retry-after`, `exception.type`."""
    value: str
    """What stood there, shortened; empty where it is content."""
    decided: str = "class"
    """What it decided: `class`, `wait`, `axis`, `scope`, `category` or `where`."""


class Verdict(Record, frozen=True):
    """What a report means. `failure` None: a complete reply that is neither a refusal nor a failure."""

    failure: FailureClass | None
    recovers_with: Axis | None = None
    retry_after_ms: int | None = None
    """The stated wait, counted from the report's `received_at`."""
    category: str | None = None
    """Of a refusal: the provider's word in lower case, or one of stoic's own."""
    where: str | None = None
    """Of a refusal: `prompt`, `completion` or `mid_stream`."""
    scope: str | None = None
    """Of a refusal: `request_bytes`, `completion_sample`, `model`, `unknown`, `agent_action` or `account`."""
    after_output: bool = False
    """Whether anything had been shown before the verdict."""
    limit_tokens: int | None = None
    """The largest `max_tokens` that would do, when the provider states it and a smaller one alone is enough."""
    evidence: list[Evidence] = []
    request_id: str | None = None
    end_unconfirmed: bool = False

    @property
    def name(self) -> str:
        """The class's name, or `ok`."""
        return self.failure.value if self.failure else "ok"
