"""Reads message lists: OpenAI Chat and Responses, Anthropic Messages, and the sessions of programs that keep those.

Facts from the public API references of OpenAI and Anthropic, and for sessions from public descriptions such as
https://github.com/jeremedia/claude-code-log-format and
https://github.com/kvsankar/agent-history/blob/main/docs/codex-format.md.
"""

from typing import cast

from stoic.cli.traces import Item, Trace, TraceBuilder
from stoic.errors import UsageError
from stoic.records import Json

_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call")
_OURS = (
    "<system-reminder>",
    "<local-command-",
    "<command-",
    "Caveat: ",
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "# AGENTS.md",
)
"""How texts begin that stand as a user's but were written by the host."""


def read_messages(items: list[Item], identity: str, name: str) -> Trace:
    """Read one list of messages or Responses items. Raises UsageError when an element is neither."""
    reader = _MessageReader(identity)
    for place, item in enumerate(items, 1):
        reader.read(item, f"{name}: message {place}")
    return reader.trace()


def read_session(items: list[Item], identity: str, name: str) -> list[Trace]:
    """Read the records of a Claude Code session; each side chain (a sub-agent's run) is a trace of its own."""
    readers: dict[str, _MessageReader] = {}
    for place, item in enumerate(items, 1):
        side = str(item.get("agentId") or "sidechain") if item.get("isSidechain") else ""
        session = identity if not side else f"{identity}:{side}"
        reader = readers.setdefault(side, _MessageReader(session))
        if item.get("subtype") == "compact_boundary" or item.get("isCompactSummary"):
            reader.compaction()
        elif item.get("type") in ("user", "assistant") and not item.get("isApiErrorMessage"):
            message = item.get("message")
            if not isinstance(message, dict):
                raise UsageError(f"{name}: record {place} has no `message`; is this a whole session file?")
            reader.read(cast("Item", message), f"{name}: record {place}", ours=bool(item.get("isMeta")))
    return [reader.trace() for reader in readers.values()]


def read_rollout(items: list[Item], identity: str, name: str) -> Trace:
    """Read the records of a Codex session: Responses items, each wrapped in a record with a time."""
    reader = _MessageReader(identity)
    for place, item in enumerate(items, 1):
        payload = item.get("payload")
        if item.get("type") == "compacted":
            reader.compaction()
        elif item.get("type") == "response_item":
            if not isinstance(payload, dict):
                raise UsageError(f"{name}: record {place} has no `payload`; is this a whole session file?")
            reader.read(cast("Item", payload), f"{name}: record {place}")
    return reader.trace()


class _MessageReader:
    """Turns one message after the other into entries."""

    def __init__(self, identity: str) -> None:
        self._builder = TraceBuilder(identity)
        self._batch = 0
        self._replying: str | None = None
        """The reply being read: its message id, or empty; None after anything else."""

    def trace(self) -> Trace:
        return self._builder.trace()

    def compaction(self) -> None:
        self._builder.event("compaction")

    def read(self, item: Item, where: str, *, ours: bool = False) -> None:
        role, kind = item.get("role"), item.get("type")
        if kind in _CALLS:
            self._reply("")
            self._item_call(item, str(kind))
        elif isinstance(kind, str) and kind.endswith("_output"):
            self._replying = None
            self._builder.result(str(item.get("call_id")), item.get("output"), known=_known(item.get("output")))
        elif role == "assistant":
            self._reply(str(item.get("id") or ""))
            self._assistant(item)
        elif role == "user":
            self._user(item.get("content"), ours=ours)
        elif role in ("tool", "function"):
            self._replying = None
            content = _joined(item.get("content"))
            self._builder.result(str(item.get("tool_call_id") or item.get("name")), content, known=_known(content))
        elif kind == "compaction":
            self.compaction()
        elif not isinstance(role, str) and not isinstance(kind, str):
            raise UsageError(f"{where} has neither `role` nor `type`; give a message list")

    def _reply(self, message_id: str) -> None:
        """Begin another reply unless this still belongs to the one being read."""
        if self._replying is None or (message_id and message_id != self._replying):
            self._batch += 1
        self._replying = message_id

    def _assistant(self, item: Item) -> None:
        content = item.get("content")
        if isinstance(content, str):
            self._builder.text(content)
        for block in _blocks(content):
            if block.get("type") in ("text", "output_text"):
                self._builder.text(str(block.get("text") or ""))
            elif block.get("type") == "tool_use":
                self._call(block.get("id"), block.get("name"), block.get("input"))
        for call in _blocks(item.get("tool_calls")):
            function: Json = call.get("function") or call.get("custom")
            if isinstance(function, dict):
                named = cast("Item", function)
                self._call(call.get("id"), named.get("name"), named.get("arguments", named.get("input")))
        old = item.get("function_call")
        if isinstance(old, dict):
            named = cast("Item", old)
            self._call(named.get("name"), named.get("name"), named.get("arguments"))

    def _item_call(self, item: Item, kind: str) -> None:
        arguments = item.get("arguments", item.get("input", item.get("action", item.get("operation"))))
        self._call(item.get("call_id"), item.get("name") or kind.removesuffix("_call"), arguments)

    def _call(self, call_id: Json, tool: Json, arguments: Json) -> None:
        self._builder.call(str(call_id), str(tool or ""), arguments, batch=self._batch)

    def _user(self, content: Json, *, ours: bool) -> None:
        self._replying = None
        texts = [content] if isinstance(content, str) else []
        for block in _blocks(content):
            if block.get("type") == "tool_result":
                result = _joined(block.get("content"))
                failed = True if block.get("is_error") else None
                self._builder.result(str(block.get("tool_use_id")), result, failed=failed, known=_known(result))
            elif block.get("type") in ("text", "input_text"):
                texts.append(str(block.get("text") or ""))
        said = [text for text in texts if text.strip()]
        if said:
            by_host = ours or all(text.lstrip().startswith(_OURS) for text in said)
            self._builder.event("nudge" if by_host else "user")


def _blocks(content: Json) -> list[Item]:
    if not isinstance(content, list):
        return []
    return [cast("Item", block) for block in cast("list[Json]", content) if isinstance(block, dict)]


def _joined(content: Json) -> Json:
    """Return a result's text when it consists of text only."""
    blocks = _blocks(content)
    if blocks and all(isinstance(block.get("text"), str) for block in blocks):
        return "\n".join(str(block["text"]) for block in blocks)
    return content


def _known(result: Json) -> bool:
    """Tell whether the called tool exists: Claude Code says so in words when it does not."""
    return not (isinstance(result, str) and "No such tool available: " in result[:200])
