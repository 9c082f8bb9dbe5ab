"""An agent: a model, its instructions, its tools and what it may do; the same for all threads that use it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from stoic.core.budget import Limits
from stoic.core.output import instruction, merged, native_parameters
from stoic.core.plan import ASK_FOR_EFFECTS, Permission
from stoic.errors import UsageError
from stoic.ports import Connection
from stoic.records import Json, Message
from stoic.sampling import Sampling, check_sampling
from stoic.tools.answering import OutputType
from stoic.tools.declaration import Tool

DEFAULT_MAX_ROUNDS = 64
NATIVE_OUTPUT = frozenset({"openai", "anthropic", "gemini"})
"""Providers whose API binds the answer to a schema; compatible servers differ, and there the instruction alone must do."""
Summariser = Callable[[list[Message]], Awaitable[str | None]]
"""Sums up messages; None or nothing: it could not."""


class Agent:
    """Immutable once made; hold one and use it for as many threads as you like."""

    def __init__(
        self,
        model: str,
        *,
        fallbacks: Sequence[str] = (),
        instructions: str = "",
        tools: Sequence[Tool | Callable[..., Any]] = (),
        permissions: dict[str, Permission] | None = None,
        max_rounds: int | None = DEFAULT_MAX_ROUNDS,
        max_tokens_per_turn: int | None = None,
        max_cost_usd: float | None = None,
        max_seconds: float | None = None,
        summariser: Summariser | None = None,
        output: Any = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        reasoning_effort: str | None = None,
        parameters: dict[str, Json] | None = None,
    ) -> None:
        """Describe an agent.

        Args:
            model: `PROVIDER:NAME`, such as `openai-chat:gpt-5`
            fallbacks: models that may answer instead, for one turn, when this one does not answer because of an outage,
                a credential or the configuration; never after a refusal
            instructions: the system prompt
            tools: tools, or typed functions, which then count as having the effect `write`
            permissions: by effect: `allow`, `ask` or `deny`; default: `write`, `send` and `exec` ask
            max_rounds: rounds of one turn, None for no bound; default 64
            max_tokens_per_turn: input and output tokens of one turn together; default no bound
            max_cost_usd: what one turn may cost; default no bound
            max_seconds: wall time of one turn, waits included; default no bound
            output: a type, such as a pydantic model, that the final answer must be a value of; `Outcome.value` has it
            summariser: sums up the beginning of a conversation that no longer fits; default the model itself
            max_tokens: longest reply; default the settings', else the provider's
            temperature: from 0 to 2; default likewise
            reasoning_effort: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; default likewise
            parameters: further request parameters of the provider's API, such as `top_p`; they win over the three before

        Raises:
            UsageError: two tools have one name, a bound is not above 0, or a request parameter can be no model's
            ToolDeclarationError: a function cannot be a tool
        """
        if max_rounds is not None and max_rounds < 1:
            raise UsageError(f"max_rounds is {max_rounds}; it must be at least 1, or None for no bound")
        self.model = model
        self.models = [model, *fallbacks]
        if len(set(self.models)) != len(self.models):
            raise UsageError(f"a model is named twice among {', '.join(self.models)}; name each once")
        self.output = None if output is None else OutputType(output)
        asked_for = [] if self.output is None else [instruction(self.output.facts)]
        self.instructions = "\n\n".join(part for part in (instructions, *asked_for) if part)
        declared = [each if isinstance(each, Tool) else Tool(each) for each in tools]
        self.tools = {tool.name: tool for tool in declared}
        if len(self.tools) != len(declared):
            names = [tool.name for tool in declared]
            twice = next(name for name in names if names.count(name) > 1)
            raise UsageError(f"two tools are named {twice!r}; rename one with @tool(name=…)")
        self.schemas = [tool.schema for tool in declared]
        self.facts = {tool.name: tool.facts for tool in declared}
        self.permissions = dict(ASK_FOR_EFFECTS) if permissions is None else dict(permissions)
        bounds = {"max_tokens_per_turn": max_tokens_per_turn, "max_cost_usd": max_cost_usd, "max_seconds": max_seconds}
        for name, bound in bounds.items():
            if bound is not None and bound <= 0:
                raise UsageError(f"{name} is {bound}; it must be above 0, or None for no bound")
        self.limits = Limits(
            max_rounds=max_rounds, max_tokens=max_tokens_per_turn, max_cost_usd=max_cost_usd, max_seconds=max_seconds
        )
        self.summariser = summariser
        self.sampling = check_sampling(
            Sampling(max_tokens=max_tokens, temperature=temperature, reasoning_effort=reasoning_effort)
        )
        self.parameters = dict(parameters or {})

    def parameters_for(self, connection: Connection) -> dict[str, Json]:
        """Return the request parameters in the words of a connection's API.

        Raises:
            UsageError: its model does not take one of them
        """
        given = _merged(connection.express(self.sampling), self.parameters)
        if self.output is None or connection.provider not in NATIVE_OUTPUT:
            return given
        return merged(given, native_parameters(connection.api, self.output.facts, has_tools=bool(self.tools)))


def _merged(expressed: dict[str, Json], given: dict[str, Json]) -> dict[str, Json]:
    """Return both, the given ones winning; objects such as `generationConfig` are merged one level deep."""
    found = expressed | given
    for name in expressed.keys() & given.keys():
        ours, theirs = expressed[name], given[name]
        if isinstance(ours, dict) and isinstance(theirs, dict):
            found[name] = {**ours, **theirs}
    return found
