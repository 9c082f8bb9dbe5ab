"""Tool calls of a Chat Completions stream, assembled from deltas that servers number in very different ways."""

from stoic.records import CallPart
from stoic.wire.text import is_json_object, mend

_CALLING_ENDS = {"stop", "tool_calls", "function_call"}


class CallBuffer:
    """One call as far as it came; it belongs to one attempt and dies with it."""

    __slots__ = ("call_id", "index", "name", "pieces")

    def __init__(self, index: int | None, call_id: str) -> None:
        """Begin a call without name and arguments."""
        self.index = index
        self.call_id = call_id
        self.name = ""
        self.pieces: list[str] = []

    @property
    def arguments(self) -> str:
        """The argument text so far."""
        return mend("".join(self.pieces))

    def part(self, finish: str | None) -> CallPart:
        """Return the call as a part of the reply.

        It is whole when nothing of it can be missing: a finish reason came, and either it is one meant for calls, or the
        arguments are one JSON object, which cannot go on. Whether a whole call's arguments are JSON is another question:
        a model can write nonsense to its end. No argument text under a finish reason such as `length` is not whole.

        Args:
            finish: The reply's finish reason, or None.
        """
        arguments = self.arguments
        whole = finish is not None and (finish in _CALLING_ENDS or is_json_object(arguments))
        return CallPart(name=self.name, arguments=arguments, provider_id=self.call_id, whole=whole and bool(self.name))


class CallAssembler:
    """All calls of one attempt, in the order in which they began."""

    def __init__(self) -> None:
        """Begin without calls."""
        self.calls: list[CallBuffer] = []

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
            call = CallBuffer(index, call_id)
            self.calls.append(call)
        call.call_id = call.call_id or call_id
        announced = None
        if name and not call.name:
            call.name = announced = name
        elif name and name != call.name and not call.pieces:
            call.name += name
        if arguments:
            call.pieces.append(arguments)
        return announced

    def _find(self, index: int | None, call_id: str, name: str) -> CallBuffer | None:
        """Return the call a delta belongs to; None: it begins a new one."""
        if index is not None:
            known = next((call for call in reversed(self.calls) if call.index == index), None)
            # Gemini's compatible endpoint numbers parallel calls all 0; they differ in their ids.
            if known and call_id and known.call_id not in ("", call_id) and name and is_json_object(known.arguments):
                return None
            return known
        if call_id:
            return next((call for call in self.calls if call.call_id == call_id), None)
        last = self.calls[-1] if self.calls else None
        begins = bool(name) and last is not None and is_json_object(last.arguments)
        return None if begins else last
