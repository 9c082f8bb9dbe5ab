"""An agent: a model, its instructions, its tools and what it may do; the same for all threads that use it."""

from collections.abc import Callable, Sequence
from typing import Any

from stoic.core.commands import Limits
from stoic.core.plan import ASK_FOR_EFFECTS, Permission
from stoic.errors import UsageError
from stoic.records import Json
from stoic.tools.declaration import Tool

DEFAULT_MAX_ROUNDS = 64


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
            parameters: further request parameters of the provider's API, such as `temperature`

        Raises:
            UsageError: two tools have one name, or max_rounds is below 1
            ToolDeclarationError: a function cannot be a tool
        """
        if max_rounds is not None and max_rounds < 1:
            raise UsageError(f"max_rounds is {max_rounds}; it must be at least 1, or None for no bound")
        self.model = model
        self.models = [model, *fallbacks]
        self.instructions = instructions
        declared = [each if isinstance(each, Tool) else Tool(each) for each in tools]
        self.tools = {tool.name: tool for tool in declared}
        if len(self.tools) != len(declared):
            names = [tool.name for tool in declared]
            twice = next(name for name in names if names.count(name) > 1)
            raise UsageError(f"two tools are named {twice!r}; rename one with @tool(name=…)")
        self.schemas = [tool.schema for tool in declared]
        self.facts = {tool.name: tool.facts for tool in declared}
        self.permissions = dict(ASK_FOR_EFFECTS) if permissions is None else dict(permissions)
        self.limits = Limits(max_rounds=max_rounds)
        self.parameters = dict(parameters or {})
