"""An agent: a model, its instructions, its tools and what it may do; the same for all threads that use it."""

import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from msgspec.structs import replace

from stoic.core.budget import Bounds, Limits, unusable_bound
from stoic.core.commands import ToolFacts
from stoic.core.loops import Effect
from stoic.core.output import instruction, merged, native_parameters
from stoic.core.plan import ASK_FOR_EFFECTS, Permission
from stoic.errors import UsageError
from stoic.ports import Connection
from stoic.records import Json, Message, Record, ToolSchema
from stoic.sampling import Sampling, check_sampling
from stoic.tools.callbacks import misfit
from stoic.tools.declaration import Tool

if TYPE_CHECKING:
    from stoic.tools.answering import OutputType

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_MAX_ROUNDS = 64
NATIVE_OUTPUT = frozenset({"openai", "anthropic", "gemini"})
"""Providers whose API binds the answer to a schema; compatible servers differ, and there the instruction alone must do."""
Summariser = Callable[[list[Message]], Awaitable[str | None] | str | None]
"""Sums up messages, sync or async; None or nothing: it could not."""
Extractor = Callable[[str], Awaitable[Sequence[str]] | Sequence[str]]
"""Makes memories of a turn's text, sync or async: each a short text that can be understood without the others."""
DEFAULT_NAME = "agent"
DEFAULT_MODE = "default"
"""The agent as it was declared."""


class Mode(Record, frozen=True):
    """A named profile of an agent, such as plan or act; a person switches a thread to it."""

    instructions: str = ""
    """Stand below the agent's own."""
    tools: Sequence[str] | None = None
    """The names of those of the agent's tools that it has; None: all."""
    permissions: Mapping[str, Permission] | Permission | None = None
    """By effect, or one word for `write`, `send` and `exec`; what is not named is as the agent says."""


class Agent:
    """Immutable once made; hold one and use it for as many threads as you like."""

    def __init__(
        self,
        model: str,
        *,
        fallbacks: Sequence[str] = (),
        instructions: str = "",
        tools: Sequence[Tool | Callable[..., Any]] = (),
        permissions: Mapping[str, Permission] | Permission | None = None,
        max_rounds: int | None = DEFAULT_MAX_ROUNDS,
        max_tokens_per_turn: int | None = None,
        max_cost_usd: float | None = None,
        max_seconds: float | None = None,
        per_thread: Bounds | None = None,
        per_day: Bounds | None = None,
        summariser: Summariser | None = None,
        output: Any = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        reasoning_effort: str | None = None,
        parameters: dict[str, Json] | None = None,
        modes: Mapping[str, Mode] | None = None,
        name: str = DEFAULT_NAME,
        extractor: Extractor | None = None,
    ) -> None:
        """Describe an agent.

        Args:
            model: `PROVIDER:NAME`, such as `openai-chat:gpt-5`
            fallbacks: models that may answer instead, for one turn, when this one does not answer because of an outage,
                a credential or the configuration; never after a refusal
            instructions: the system prompt
            tools: tools, or typed functions, which then count as having the effect `write`
            permissions: by effect: `allow`, `ask` or `deny`; of `write`, `send` and `exec` what is not named asks. One word
                alone counts for these three
            max_rounds: rounds of one turn, None for no bound; default 64
            max_tokens_per_turn: input and output tokens of one turn together; default no bound
            max_cost_usd: what one turn may cost; default no bound
            max_seconds: wall time of one turn, waits included; default no bound
            output: a type, such as a pydantic model, that the final answer must be a value of; `Outcome.value` has it
            per_thread: what a thread and all tasks below it may take, ever; default the settings', else no bound
            per_day: what everything in the database may take on a day of UTC; default likewise
            summariser: a function, sync or async, that sums up the beginning of a conversation that no longer fits; default
                the model itself
            max_tokens: longest reply; default the settings', else the provider's
            temperature: from 0 to 2; default likewise
            reasoning_effort: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; default likewise
            parameters: further request parameters of the provider's API, such as `top_p`; they win over the three before
            extractor: a function, sync or async, that after each turn makes memories, of the scope that is the name, of what
                was shown and accepted in it; where it raises, a warning says so and the turn has none
            name: tells the agents of one program apart, where a thread has to be run that nobody holds in his hand
            modes: by name, beside `default`, which is the agent as it is declared here

        Raises:
            UsageError: two tools have one name, a bound is not above 0, a permission is none, a request parameter can be no
                model's, a mode has a tool that the agent has not, or the summariser or the extractor takes something else
            ToolDeclarationError: a function cannot be a tool
        """
        if max_rounds is not None and max_rounds < 1:
            raise UsageError(f"max_rounds is {max_rounds}; it must be at least 1, or None for no bound")
        self.name = name
        self.extractor = _taking_one("extractor", extractor, "the turn's text")
        self.model = model
        self.models = [model, *fallbacks]
        if len(set(self.models)) != len(self.models):
            raise UsageError(f"a model is named twice among {', '.join(self.models)}; name each once")
        self.output = None if output is None else _output_type(output)
        self.mode = DEFAULT_MODE
        self._own_instructions = instructions
        self.instructions = self._instructions("")
        declared = [each if isinstance(each, Tool) else Tool(each) for each in tools]
        self.tools = {tool.name: tool for tool in declared}
        if len(self.tools) != len(declared):
            names = [tool.name for tool in declared]
            twice = next(name for name in names if names.count(name) > 1)
            raise UsageError(f"two tools are named {twice!r}; rename one with @tool(name=…)")
        self.schemas, self.facts = _schemas(self.tools), _facts(self.tools)
        self.permissions = _permissions(permissions, ASK_FOR_EFFECTS)
        bounds = {"max_tokens_per_turn": max_tokens_per_turn, "max_cost_usd": max_cost_usd, "max_seconds": max_seconds}
        for which, bound in bounds.items():
            if bound is not None and bound <= 0:
                raise UsageError(f"{which} is {bound}; it must be above 0, or None for no bound")
        self.limits = Limits(
            max_rounds=max_rounds,
            max_tokens=max_tokens_per_turn,
            max_cost_usd=max_cost_usd,
            max_seconds=max_seconds,
            per_thread=_bounds("per_thread", per_thread),
            per_day=_bounds("per_day", per_day),
        )
        self.summariser = _taking_one("summariser", summariser, "the messages")
        self.sampling = check_sampling(
            Sampling(max_tokens=max_tokens, temperature=temperature, reasoning_effort=reasoning_effort)
        )
        self.parameters = dict(parameters or {})
        self.modes = {DEFAULT_MODE: self}
        self.modes |= {name: self._in(name, mode) for name, mode in (modes or {}).items()}

    def in_mode(self, name: str | None) -> "Agent":
        """Return the agent as it is in a mode; None: `default`.

        Raises:
            UsageError: it has no such mode
        """
        found = self.modes.get(name or DEFAULT_MODE)
        if found is None:
            raise UsageError(f"there is no mode {name!r}; this agent has {', '.join(self.modes)}")
        return found

    @property
    def left_out(self) -> frozenset[str]:
        """The agent's tools that it does not have in this mode."""
        whole = self.modes[DEFAULT_MODE]
        return frozenset() if self.mode == DEFAULT_MODE else frozenset(whole.tools) - frozenset(self.tools)

    def with_tools(self, names: Sequence[str]) -> "Agent":
        """Return the agent with those of its tools alone. Raises KeyError if it has not one of them."""
        found = copy.copy(self)
        found.tools = {each: self.tools[each] for each in names}
        found.schemas, found.facts = _schemas(found.tools), _facts(found.tools)
        return found

    def _in(self, name: str, mode: Mode) -> "Agent":
        if name == DEFAULT_MODE or name.split() != [name]:
            raise UsageError(f"a mode is named {name!r}; use one word other than {DEFAULT_MODE}")
        names = list(self.tools) if mode.tools is None else mode.tools
        missing = next((each for each in names if each not in self.tools), None)
        if missing is not None:
            known = ", ".join(self.tools) or "none"
            raise UsageError(f"mode {name} has the tool {missing!r}, which the agent has not; its tools are {known}")
        found = self.with_tools(names)
        found.mode = name
        found.instructions = self._instructions(mode.instructions)
        if mode.permissions is not None:
            found.permissions = _permissions(mode.permissions, self.permissions)
        return found

    def _instructions(self, of_mode: str) -> str:
        asked_for = "" if self.output is None else instruction(self.output.facts)
        return "\n\n".join(part for part in (self._own_instructions, of_mode, asked_for) if part)

    def parameters_for(self, connection: Connection, *, max_tokens: int | None = None) -> dict[str, Json]:
        """Return the request parameters in the words of a connection's API.

        Args:
            connection: where the request goes
            max_tokens: the longest reply there is room for; None: as the agent says

        Raises:
            UsageError: its model does not take one of them
        """
        sampling, parameters = self.sampling, self.parameters
        if max_tokens is not None:
            parameters = _lowered(parameters, max_tokens)
            if sampling.max_tokens is not None or parameters == self.parameters:
                sampling = replace(sampling, max_tokens=min(sampling.max_tokens or max_tokens, max_tokens))
        given = _merged(connection.express(sampling), parameters)
        if self.output is None or connection.provider not in NATIVE_OUTPUT:
            return given
        return merged(given, native_parameters(connection.api, self.output.facts, has_tools=bool(self.tools)))


def _taking_one(name: str, function: F | None, what: str) -> F | None:
    """Return a function that is to be called with one argument, if there is one. Raises UsageError: it cannot be."""
    why = None if function is None else misfit(function, None)
    if why is not None:
        raise UsageError(f"{name}: it is called with one argument, {what}; yours cannot be ({why})")
    return function


def _permissions(
    given: Mapping[str, Permission] | Permission | None, rest: Mapping[str, Permission]
) -> dict[str, Permission]:
    """Return the permissions by effect: what is given, then the rest.

    Raises:
        UsageError: an effect or a permission is none
    """
    named: dict[str, Permission] = (
        dict.fromkeys(ASK_FOR_EFFECTS, given) if isinstance(given, str) else dict(given or {})
    )
    for effect, permission in named.items():
        if effect not in get_args(Effect):
            raise UsageError(f"permissions: {effect!r} is no effect; there are {', '.join(get_args(Effect))}")
        if permission not in get_args(Permission):
            raise UsageError(
                f"permissions: {effect} is {permission!r}; it must be one of {', '.join(get_args(Permission))}"
            )
    return {**rest, **named}


def _bounds(name: str, given: Bounds | None) -> Bounds:
    bad = None if given is None else unusable_bound(given)
    if bad is not None:
        raise UsageError(f"{name}.{bad}; it must be above 0, or None for no bound")
    return given or Bounds()


def _schemas(tools: dict[str, Tool]) -> list[ToolSchema]:
    return [tool.schema for tool in tools.values()]


def _facts(tools: dict[str, Tool]) -> dict[str, ToolFacts]:
    return {name: tool.facts for name, tool in tools.items()}


def _output_type(output: Any) -> "OutputType":
    from stoic.tools.answering import OutputType  # noqa: PLC0415 -- loads pydantic, which importing stoic must not

    return OutputType(output)


_LENGTHS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"})
"""What the APIs call the longest reply, where a person wrote it among the further parameters."""


def _lowered(parameters: dict[str, Json], max_tokens: int) -> dict[str, Json]:
    """Return the parameters with each that says the longest reply lowered to that."""
    return {
        name: min(value, max_tokens)
        if name in _LENGTHS and isinstance(value, int)
        else _lowered(cast("dict[str, Json]", value), max_tokens)
        if name == "generationConfig" and isinstance(value, dict)
        else value
        for name, value in parameters.items()
    }


def _merged(expressed: dict[str, Json], given: dict[str, Json]) -> dict[str, Json]:
    """Return both, the given ones winning; objects such as `generationConfig` are merged one level deep."""
    found = expressed | given
    for name in expressed.keys() & given.keys():
        ours, theirs = expressed[name], given[name]
        if isinstance(ours, dict) and isinstance(theirs, dict):
            found[name] = {**ours, **theirs}
    return found
