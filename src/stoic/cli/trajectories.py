"""Reads agent trajectories: OpenHands events (old and new), SWE-agent steps, mini-swe-agent messages.

Facts from https://swe-agent.com/latest/usage/trajectories/ and
https://github.com/OpenHands/software-agent-sdk/tree/main/openhands-sdk/openhands/sdk/event.
"""

import re
from typing import cast

from stoic.cli.traces import Item, Trace, TraceBuilder, begins_as_failure
from stoic.errors import UsageError
from stoic.records import Json

_NO_TOOLS = frozenset(
    ["message", "system", "recall", "finish", "reject", "think", "change_agent_state", "null", "pause", "resume"]
)
_BESIDES = frozenset(
    ["thought", "hidden", "confirmation_state", "security_risk", "blocking", "keep_prompt", "include_extra", "kind"]
)
_BLOCK = re.compile(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)\n?```", re.DOTALL)


def read_steps(items: list[Item], identity: str, name: str) -> Trace:
    """Read SWE-agent steps: an action is a command, its observation the result. Raises UsageError on anything else."""
    builder = TraceBuilder(identity)
    for number, item in enumerate(items, 1):
        action, observation = item.get("action"), item.get("observation")
        if not isinstance(action, str) or not isinstance(observation, str):
            raise UsageError(f"{name}: step {number} needs `action` and `observation` as text")
        if action.strip():
            builder.call(str(number), "bash", {"command": action}, batch=number)
            builder.result(str(number), observation, failed=begins_as_failure(observation))
        else:
            builder.text(str(item.get("thought") or item.get("response") or ""))
    return builder.trace()


def read_mini_trajectory(messages: list[Json], identity: str, name: str) -> Trace:
    """Read a mini-swe-agent trajectory: a command stands in a code block, or in a tool call; then comes its output."""
    items = [cast("Item", message) for message in messages if isinstance(message, dict)]
    if any(item.get("tool_calls") or item.get("type") for item in items):
        from stoic.cli.messages import read_messages

        return read_messages(items, identity, name)
    builder = TraceBuilder(identity)
    open_call = ""
    for number, item in enumerate(items, 1):
        content = item.get("content")
        text = content if isinstance(content, str) else ""
        if item.get("role") == "assistant":
            command = _BLOCK.search(text)
            builder.text(text[: command.start()] if command else text)
            if command:
                open_call = str(number)
                builder.call(open_call, "bash", {"command": command[1]}, batch=number)
        elif item.get("role") == "user":
            if open_call:
                builder.result(open_call, text)
                open_call = ""
            else:
                builder.event("user" if number <= 2 else "nudge")  # noqa: PLR2004  # the task; later ones are the host's
    return builder.trace()


def read_events(items: list[Item], identity: str, name: str) -> Trace:
    """Read OpenHands events, of the application (`action`, `observation`) or of the SDK (`kind`)."""
    builder = TraceBuilder(identity)
    batches: dict[str, int] = {}
    for number, item in enumerate(items, 1):
        if isinstance(item.get("kind"), str):
            _sdk_event(item, builder, batches, number)
        elif isinstance(item.get("action"), str):
            _action(item, builder, batches, number)
        elif isinstance(item.get("observation"), str):
            _observation(item, builder)
        elif "source" not in item:
            raise UsageError(f"{name}: event {number} has no `action`, `observation`, `kind` or `source`")
    return builder.trace()


def _action(item: Item, builder: TraceBuilder, batches: dict[str, int], number: int) -> None:
    action, arguments = str(item["action"]), _object(item.get("args"))
    if action == "message":
        _message(str(item.get("source")), arguments.get("content"), builder)
    elif action.startswith("condensation"):
        builder.event("compaction")
    elif action not in _NO_TOOLS:
        reply = _object(_object(item.get("tool_call_metadata")).get("model_response")).get("id") or f"event {number}"
        batch = batches.setdefault(str(reply), len(batches) + 1)
        tool = str(arguments.get("name") or action) if action == "call_tool_mcp" else action
        given = arguments.get("arguments") if action == "call_tool_mcp" else _plain(arguments)
        builder.call(str(item.get("id", number)), tool, given, batch=batch)


def _observation(item: Item, builder: TraceBuilder) -> None:
    code = _object(_object(item.get("extras")).get("metadata")).get("exit_code")
    failed = item["observation"] == "error" or (isinstance(code, int) and code > 0) or item.get("success") is False
    builder.result(str(item.get("cause")), item.get("content"), failed=failed)


def _sdk_event(item: Item, builder: TraceBuilder, batches: dict[str, int], number: int) -> None:
    kind, call_id = item["kind"], str(item.get("tool_call_id"))
    if kind == "ActionEvent" and item.get("tool_name"):
        batch = batches.setdefault(str(item.get("llm_response_id") or f"event {number}"), len(batches) + 1)
        call = _object(item.get("tool_call"))
        written = call.get("arguments") or _object(call.get("function")).get("arguments")
        builder.call(call_id, str(item["tool_name"]), written or _plain(_object(item.get("action"))), batch=batch)
    elif kind == "ObservationEvent":
        seen = _object(item.get("observation"))
        code = seen.get("exit_code")
        failed = bool(seen.get("is_error") or seen.get("error")) or (isinstance(code, int) and code > 0)
        builder.result(call_id, _plain(seen), failed=failed)
    elif kind in {"AgentErrorEvent", "UserRejectObservation"}:
        error = str(item.get("error") or item.get("rejection_reason") or "")
        known = not (error.startswith("Tool ") and " not found" in error)
        builder.result(call_id, error, failed=True, known=known)
    elif kind == "MessageEvent":
        _message(str(item.get("source")), _object(item.get("llm_message")).get("content"), builder)
    elif kind == "Condensation":
        builder.event("compaction")


def _message(source: str, content: Json, builder: TraceBuilder) -> None:
    if source == "user":
        builder.event("user")
    elif source == "agent":
        parts = cast("list[Json]", content) if isinstance(content, list) else [{"text": content}]
        builder.text("\n".join(str(_object(part).get("text") or "") for part in parts))
    else:
        builder.event("nudge")


def _object(value: Json) -> Item:
    return cast("Item", value) if isinstance(value, dict) else {}


def _plain(item: Item) -> Item:
    return {key: value for key, value in item.items() if key not in _BESIDES}
