"""Tool calls of a Chat Completions stream, assembled from deltas that servers number in very different ways."""

from stoic.records import CallPart
from stoic.wire.growing_object import GrowingObject
from stoic.wire.text import is_json_object

_CALLING_ENDS = {"stop", "tool_calls", "function_call"}
_NAME_CHARACTERS = 256
"""No name is longer; pieces beyond are not added to it."""


class CallBuffer:
    """One call as far as it came; it belongs to one attempt and dies with it."""

    __slots__ = ("arguments", "call_id", "name")

    def __init__(self) -> None:
        """Begin a call without name and arguments."""
        self.call_id = ""
        self.name = ""
        self.arguments = GrowingObject()

    def part(self, finish: str | None) -> CallPart:
        """Return the call as a part of the reply.

        It is whole when nothing of it can be missing: a finish reason came, and either it is one meant for calls, or the
        arguments are one JSON object, which cannot go on. Whether a whole call's arguments are JSON is another question:
        a model can write nonsense to its end. No argument text under a finish reason such as `length` is not whole.

        Args:
            finish: The reply's finish reason, or None.
        """
        arguments = self.arguments.text
        whole = finish is not None and (finish in _CALLING_ENDS or is_json_object(arguments))
        return CallPart(name=self.name, arguments=arguments, provider_id=self.call_id, whole=whole and bool(self.name))


class CallAssembler:
    """All calls of one attempt, in the order in which they began."""

    def __init__(self) -> None:
        """Begin without calls."""
        self.calls: list[CallBuffer] = []
        self._newest_by_index: dict[int, CallBuffer] = {}
        self._first_by_id: dict[str, CallBuffer] = {}

    def add(self, index: int | None, call_id: str, name: str, arguments: str) -> str | None:
        """Take one delta; return the call's name when this delta made it known.

        Args:
            index: The server's own number of the call, if it sends one.
            call_id: The id, empty where the delta has none.
            name: The tool's name, empty where the delta has none; some servers repeat it in every delta.
            arguments: The next piece of the argument text.
        """
        call = self._find(index, call_id, name)
        if call is None:
            call = self._begin(index)
        if call_id and not call.call_id:
            call.call_id = call_id
            self._first_by_id.setdefault(call_id, call)
        announced = None
        pieces = call.arguments.pieces
        if name and not call.name:
            call.name = announced = name
        elif name and name != call.name and not pieces and len(call.name) < _NAME_CHARACTERS:
            call.name += name
        if arguments:
            pieces.append(arguments)
        return announced

    def _begin(self, index: int | None) -> CallBuffer:
        call = CallBuffer()
        self.calls.append(call)
        if index is not None:
            self._newest_by_index[index] = call
        return call

    def _find(self, index: int | None, call_id: str, name: str) -> CallBuffer | None:
        """Return the call a delta belongs to; None: it begins a new one."""
        if index is not None:
            known = self._newest_by_index.get(index)
            # Gemini's compatible endpoint numbers parallel calls all 0; they differ in their ids.
            if known and call_id and known.call_id not in ("", call_id) and name and known.arguments.is_object():
                return None
            return known
        if call_id:
            return self._first_by_id.get(call_id)
        last = self.calls[-1] if self.calls else None
        begins = bool(name) and last is not None and last.arguments.is_object()
        return None if begins else last
