"""The agent that `stoic run` puts to work: its instructions, its tools and what it may do."""

from collections.abc import Sequence
from pathlib import Path

from stoic.cli.names import AGENT_NAME
from stoic.core.history import EFFECTS
from stoic.core.plan import Permission
from stoic.runtime.agents import DEFAULT_MAX_ROUNDS, Agent, Mode
from stoic.tools.builtin import journal_tools, workspace_tools
from stoic.tools.http_get import http_get_tool
from stoic.tools.memories import memory_tools
from stoic.tools.shell import shell_tool
from stoic.tools.shell_tools import background_shell_tools
from stoic.tools.task_tools import task_tools
from stoic.tools.workspace import Workspace

# Nothing in here changes from one run to the next: equal bytes keep a provider's prompt cache.
_INSTRUCTIONS = """\
You are a careful working agent. Your workspace is the folder {root}; file tools take paths relative to it, and shell \
commands start in it.

- Look before you change: read a file before you replace it.
- Do the work with the tools instead of describing it, and check the result before you call it done.
- A tool result that begins with [runtime] comes from the program that runs you, not from the tool. When it says that an \
effect is unknown, do not repeat the call: look at the files or the output to find out, and report what stays unknown.
- Start a task for work that can go on by itself, give it everything it needs to know in its brief, and wait for it with \
task_wait when you need its result. A task that was refused is not asked again the same way.
- When a call is denied, go on without it or say what you would need.
- End with a short plain answer: what you did, what you found, and what is left open.
"""

_GUIDANCE = "\nThe workspace has a file AGENTS.md for whoever works in it. It says:\n\n{text}\n"

_PLAN = """\
You are in plan mode: look, think, and say step by step what you would do. You have no tool that changes anything, and \
nothing is to be changed now.
"""


def make_agent(
    model: str,
    workspace: Path,
    permission: Permission,
    *,
    guidance: str = "",
    max_rounds: int | None = DEFAULT_MAX_ROUNDS,
    max_tokens_per_turn: int | None = None,
    max_cost_usd: float | None = None,
    max_seconds: float | None = None,
    fallbacks: Sequence[str] = (),
    max_tokens: int | None = None,
    temperature: float | None = None,
    reasoning_effort: str | None = None,
) -> Agent:
    """Return the agent.

    Args:
        model: `PROVIDER:NAME`
        workspace: an existing folder
        permission: what becomes of calls that write, send or execute: `allow`, `ask` (a person) or `deny`
        guidance: what the workspace itself says to agents; becomes the end of the instructions
        max_rounds: rounds of one turn
        max_tokens_per_turn: input and output tokens of one turn together; None: no bound
        max_cost_usd: what one turn may cost; None: no bound
        max_seconds: wall time of one turn; None: no bound
        fallbacks: further models, for failures of the first
        max_tokens: longest reply; None: as the settings or the provider say
        temperature: likewise
        reasoning_effort: likewise

    Raises:
        UsageError: a bound is not above 0
    """
    root = Workspace(workspace)
    said = _GUIDANCE.format(text=guidance.rstrip("\n")) if guidance.strip() else ""
    tools = [
        *workspace_tools(root),
        shell_tool(root),
        *background_shell_tools(root),
        http_get_tool(),
        *journal_tools(),
        *task_tools(),
        *memory_tools(str(root.root)),
    ]
    looking = [tool.name for tool in tools if tool.facts.effect not in EFFECTS]
    return Agent(
        model,
        name=AGENT_NAME,
        instructions=_INSTRUCTIONS.format(root=root.root) + said,
        tools=tools,
        modes={"plan": Mode(instructions=_PLAN, tools=looking)},
        permissions=permission,
        max_rounds=max_rounds,
        max_tokens_per_turn=max_tokens_per_turn,
        max_cost_usd=max_cost_usd,
        max_seconds=max_seconds,
        fallbacks=fallbacks,
        max_tokens=max_tokens,
        temperature=temperature,
        reasoning_effort=reasoning_effort,
    )
