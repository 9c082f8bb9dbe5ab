"""Writes traces as the recordings of other programs, as their public descriptions show them."""

import json
from collections.abc import Callable, Iterator
from typing import Any, cast

Item = dict[str, Any]
Calls = list[dict[str, Any]]

NUDGE = "<system-reminder>Go on with the task.</system-reminder>"


def text_of(result: object) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def chat(calls: Calls) -> Iterator[Item]:
    """OpenAI Chat Completions messages, https://platform.openai.com/docs/api-reference/chat."""
    yield {"role": "system", "content": "You are a careful agent."}
    yield {"role": "user", "content": "Please do it."}
    for number, one in enumerate(calls):
        if one.get("event") == "assistant":
            yield {"role": "assistant", "content": one["text"], "refusal": None}
        elif one.get("event") == "user":
            yield {"role": "user", "content": "Go on."}
        elif one.get("event") == "nudge":
            yield {"role": "user", "content": NUDGE}
        else:
            function = {"name": one["tool"], "arguments": json.dumps(one["args"], ensure_ascii=False)}
            call = {"id": f"call_{number:024d}", "type": "function", "function": function}
            yield {"role": "assistant", "content": None, "tool_calls": [call]}
            yield {"role": "tool", "tool_call_id": call["id"], "content": text_of(one["result"])}


def responses(calls: Calls) -> Iterator[Item]:
    """OpenAI Responses items, https://platform.openai.com/docs/api-reference/responses."""
    yield {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Please do it."}]}
    for number, one in enumerate(calls):
        if one.get("event") == "assistant":
            content = [{"type": "output_text", "text": one["text"], "annotations": []}]
            yield {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        elif one.get("event") in {"user", "nudge"}:
            text = "Go on." if one["event"] == "user" else NUDGE
            yield {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        else:
            yield {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "x"}
            arguments = json.dumps(one["args"], ensure_ascii=False)
            yield {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "name": one["tool"],
                "arguments": arguments,
                "status": "completed",
            }
            yield {"type": "function_call_output", "call_id": f"call_{number}", "output": text_of(one["result"])}


def codex(calls: Calls) -> Iterator[Item]:
    """A Codex session file: https://github.com/kvsankar/agent-history/blob/main/docs/codex-format.md."""
    yield {
        "timestamp": "2026-05-01T10:00:00Z",
        "type": "session_meta",
        "payload": {"id": "s", "cwd": "/w", "source": "cli"},
    }
    yield {"timestamp": "2026-05-01T10:00:00Z", "type": "turn_context", "payload": {"model": "m"}}
    for item in responses(calls):
        yield {"timestamp": "2026-05-01T10:00:01Z", "type": "response_item", "payload": item}
        yield {
            "timestamp": "2026-05-01T10:00:01Z",
            "type": "event_msg",
            "payload": {"type": "token_count", "info": None},
        }


def anthropic(calls: Calls) -> Iterator[Item]:
    """Anthropic messages, https://docs.claude.com/en/api/messages."""
    yield {"role": "user", "content": "Please do it."}
    for number, one in enumerate(calls):
        if one.get("event") == "assistant":
            yield {"role": "assistant", "content": [{"type": "text", "text": one["text"]}]}
        elif one.get("event") in {"user", "nudge"}:
            yield {"role": "user", "content": [{"type": "text", "text": "Go on." if one["event"] == "user" else NUDGE}]}
        else:
            use = {"type": "tool_use", "id": f"toolu_{number:022d}", "name": one["tool"], "input": one["args"]}
            yield {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "x"}, use]}
            result = {"type": "tool_result", "tool_use_id": use["id"], "content": text_of(one["result"])}
            if one.get("error"):
                result["is_error"] = True
            yield {"role": "user", "content": [result]}


def claude_code(calls: Calls) -> Iterator[Item]:
    """A Claude Code session, https://github.com/jeremedia/claude-code-log-format."""
    yield {"type": "queue-operation", "operation": "dequeue", "sessionId": "s"}
    yield {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False}
    for number, message in enumerate(anthropic(calls)):
        record = {
            "parentUuid": f"u{number - 1}" if number else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/w",
            "sessionId": "s",
            "version": "2.1.17",
            "gitBranch": "main",
            "type": message["role"],
            "uuid": f"u{number}",
            "timestamp": "2026-05-01T10:00:00.000Z",
        }
        if message["role"] == "assistant":
            whole = {"id": f"msg_{number}", "type": "message", "model": "m", "stop_reason": "tool_use", **message}
            yield {**record, "requestId": f"req_{number}", "message": whole}
        else:
            yield {**record, "message": message}
        yield {"type": "progress", "data": {"type": "hook_progress"}, "isSidechain": False, "uuid": f"p{number}"}


def openhands(calls: Calls) -> Iterator[Item]:
    """OpenHands events, https://github.com/OpenHands/OpenHands/tree/main/openhands/events."""
    yield {
        "id": 0,
        "timestamp": "2026-05-01T10:00:00",
        "source": "user",
        "action": "message",
        "args": {"content": "Please."},
    }
    yield {
        "id": 1,
        "source": "environment",
        "observation": "agent_state_changed",
        "content": "",
        "extras": {"agent_state": "running"},
    }
    for number, one in enumerate(calls):
        place = 2 * number + 2
        if one.get("event") == "assistant":
            yield {
                "id": place,
                "source": "agent",
                "action": "message",
                "args": {"content": one["text"], "wait_for_response": False},
            }
        elif one.get("event") in {"user", "nudge"}:
            source = "user" if one["event"] == "user" else "environment"
            yield {"id": place, "source": source, "action": "message", "args": {"content": "Go on."}}
        else:
            arguments = {"name": one["tool"], "arguments": one["args"], "thought": f"step {number}"}
            yield {"id": place, "source": "agent", "action": "call_tool_mcp", "args": arguments, "message": ""}
            kind = "error" if one.get("error") else "mcp"
            yield {
                "id": place + 1,
                "source": "agent",
                "observation": kind,
                "cause": place,
                "content": text_of(one["result"]),
                "extras": {},
            }


def openhands_sdk(calls: Calls) -> Iterator[Item]:
    """Events of the OpenHands agent SDK, https://github.com/OpenHands/software-agent-sdk."""
    said = {"role": "user", "content": [{"type": "text", "text": "Please."}]}
    yield {
        "kind": "SystemPromptEvent",
        "id": "e",
        "source": "agent",
        "system_prompt": {"type": "text", "text": "x"},
        "tools": [],
    }
    yield {"kind": "MessageEvent", "id": "f", "source": "user", "llm_message": said}
    for number, one in enumerate(calls):
        if "event" in one:
            source = {"assistant": "agent", "user": "user"}.get(str(one["event"]), "environment")
            message = {"role": "user", "content": [{"type": "text", "text": one.get("text", "Go on.")}]}
            yield {"kind": "MessageEvent", "id": f"m{number}", "source": source, "llm_message": message}
        else:
            written = {
                "id": f"c{number}",
                "name": one["tool"],
                "arguments": json.dumps(one["args"], ensure_ascii=False),
            }
            head = {"id": f"a{number}", "source": "agent", "tool_name": one["tool"], "tool_call_id": f"c{number}"}
            yield {"kind": "ActionEvent", **head, "tool_call": written, "llm_response_id": f"r{number}"}
            content = [{"type": "text", "text": text_of(one["result"])}]
            seen = {"kind": "McpObservation", "content": content, "is_error": bool(one.get("error"))}
            yield {
                "kind": "ObservationEvent",
                **head,
                "source": "environment",
                "observation": seen,
                "action_id": f"a{number}",
            }


def swe_agent(calls: Calls) -> Iterator[Item]:
    """SWE-agent steps, https://swe-agent.com/latest/usage/trajectories/; for traces of shell commands only."""
    for number, one in enumerate(calls):
        command = cast("Item", one["args"])["command"]
        yield {
            "action": command,
            "observation": text_of(one["result"]),
            "response": f"I try.\n```\n{command}\n```",
            "thought": f"I try, step {number}.",
            "execution_time": 0.1 * number,
            "state": {"working_dir": "/w", "open_file": ""},
            "query": [{"role": "system", "content": "x"}],
            "extra_info": {},
        }


FORMATS: dict[str, tuple[Callable[[Calls], Iterator[Item]], Callable[[list[Item]], object], bool]] = {
    "chat": (chat, lambda items: {"model": "m", "messages": items, "tools": []}, False),
    "chat-lines": (chat, lambda items: items, True),
    "responses": (responses, lambda items: items, False),
    "codex": (codex, lambda items: items, True),
    "anthropic": (anthropic, lambda items: items, False),
    "claude-code": (claude_code, lambda items: items, True),
    "openhands": (openhands, lambda items: items, False),
    "openhands-history": (openhands, lambda items: {"instance_id": "i", "history": items, "metrics": {}}, False),
    "openhands-sdk": (openhands_sdk, lambda items: items, True),
    "swe-agent": (swe_agent, lambda items: {"trajectory": items, "info": {}, "environment": "e"}, False),
}
"""By name: the writer, the wrapping of its items, and whether they are one JSON value a line."""


FLAGLESS = frozenset({"chat", "chat-lines", "responses", "codex", "swe-agent"})
"""Formats that keep no word on whether a call failed, but for what its result says."""
_SHELLS = frozenset({"bash", "Bash", "shell", "exec", "run_terminal_cmd"})


def is_writable(trace: Item, name: str) -> bool:
    """Tell whether a format can hold a trace: no policies, vetoes, unknown tools, or events it has no word for."""
    calls = cast("Calls", trace["calls"])
    unsaid = ("vetoed", "unknown_tool", "turn")
    if trace["tools"] or any(one.get(key) for one in calls for key in unsaid):
        return False
    if any(one.get("event") in {"compaction", "new_run", "new_task"} for one in calls):
        return False
    return name != "swe-agent" or all(
        one.get("tool") in _SHELLS and isinstance(cast("Item", one["args"]).get("command"), str) for one in calls
    )


def has_failures(trace: Item) -> bool:
    """Tell whether a call of a trace is flagged as failed."""
    return any(one.get("error") for one in cast("Calls", trace["calls"]))
