"""The agent that `stoic run` puts to work: its instructions, its tools and what it may do."""

from pathlib import Path

from stoic.core.plan import ASK_FOR_EFFECTS, DENY_EFFECTS, Permission
from stoic.runtime.agents import DEFAULT_MAX_ROUNDS, Agent
from stoic.tools.files import file_tools
from stoic.tools.shell import shell_tool
from stoic.tools.workspace import Workspace

# Nothing in here changes from one run to the next: equal bytes keep a provider's prompt cache.
_INSTRUCTIONS = """\
You are a careful working agent. Your workspace is the folder {root}; file tools take paths relative to it, and shell \
commands start in it.

- Look before you change: read a file before you replace it.
- Do the work with the tools instead of describing it, and check the result before you call it done.
- A tool result that begins with [runtime] comes from the program that runs you, not from the tool. When it says that an \
effect is unknown, do not repeat the call: look at the files or the output to find out, and report what stays unknown.
- When a call is denied, go on without it or say what you would need.
- End with a short plain answer: what you did, what you found, and what is left open.
"""

_PERMISSIONS: dict[str, dict[str, Permission]] = {"allow": {}, "ask": ASK_FOR_EFFECTS, "deny": DENY_EFFECTS}


def make_agent(
    model: str, workspace: Path, permission: Permission, *, max_rounds: int | None = DEFAULT_MAX_ROUNDS
) -> Agent:
    """Return the agent.

    Args:
        model: `PROVIDER:NAME`
        workspace: an existing folder
        permission: what becomes of calls that write, send or execute: `allow`, `ask` (a person) or `deny`
        max_rounds: rounds of one turn

    Raises:
        UsageError: max_rounds is below 1
    """
    root = Workspace(workspace)
    return Agent(
        model,
        instructions=_INSTRUCTIONS.format(root=root.root),
        tools=[*file_tools(root), shell_tool(root)],
        permissions=_PERMISSIONS[permission],
        max_rounds=max_rounds,
    )
