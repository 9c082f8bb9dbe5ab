"""The neutral request parameters: said once by an agent, expressed in each API's own words when a request is made."""

import math

from msgspec import structs

from stoic.errors import UsageError, brief
from stoic.records import Json, Record

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""How much a model is to reason; no provider knows all of them."""
LARGEST = 2**53
"""No number that a person sets is larger."""
HOTTEST = 2.0
"""The highest temperature any API takes; some take less."""


class Sampling(Record, frozen=True):
    """What an agent says of its requests in words of no API; None: the provider's default."""

    max_tokens: int | None = None
    """Longest reply, reasoning included where the provider counts it so."""
    temperature: float | None = None
    reasoning_effort: str | None = None
    """One of `EFFORTS`."""

    def or_else(self, default: "Sampling") -> "Sampling":
        """Return this with what it does not say taken from the default."""
        return Sampling(
            max_tokens=default.max_tokens if self.max_tokens is None else self.max_tokens,
            temperature=default.temperature if self.temperature is None else self.temperature,
            reasoning_effort=default.reasoning_effort if self.reasoning_effort is None else self.reasoning_effort,
        )

    def named(self) -> dict[str, Json]:
        """Return what it says, by these very names."""
        return {name: value for name, value in structs.asdict(self).items() if value is not None}


def check_sampling(sampling: Sampling) -> Sampling:
    """Return the parameters if any API could take them.

    Raises:
        UsageError: one of them can be no provider's
    """
    tokens, temperature, effort = sampling.max_tokens, sampling.temperature, sampling.reasoning_effort
    if tokens is not None and tokens < 1:
        raise UsageError(f"max_tokens is {brief(tokens)}; it must be at least 1, or left out")
    if temperature is not None and (math.isnan(temperature) or not 0 <= temperature <= HOTTEST):
        raise UsageError(f"temperature is {temperature:g}; it must be from 0 to 2, or left out")
    if effort is not None and effort not in EFFORTS:
        raise UsageError(f"reasoning_effort is {brief(effort)}; it must be one of {', '.join(EFFORTS)}, or left out")
    return sampling
