"""What the provider answers in the crash tests, by what the conversation holds; it keeps account of every request."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from stoic.testing import RecordedRequest

TASKS = 6
"""Of each owner: the first has one of its own, the last is stopped."""
CASES = {"openai-503-overloaded": {"id": "x", "status": 503, "body": {"error": {"message": "busy", "code": None}}}}
_STARTED = re.compile(r'"task":"([^"]+)"')
_MOST_BAD = 3
"""Requests of supervisors that are spoilt: a fourth could come before a good one is stored, and would close their route."""

Meet = Callable[[str, str], bool]
"""Tells that something has happened (`request`, `stream`, `done`) to somebody; true: whoever runs that is to be stopped now."""


def key_of(messages: list[dict[str, Any]]) -> str:
    """Return whose conversation it is: a thread of the program, an owner, a task by its name, `chat`, `ear` or `clock`."""
    opening: str = next(each["content"] for each in messages if each["role"] == "user")
    if opening.startswith("[event"):
        return "ear" if opening.startswith("[event ring]") else "clock"
    return opening.split()[1]


class Model:
    """Has threads leave marks, owners wait for tasks and stop one, and tasks write to a file; spoils a request now and then."""

    def __init__(self, meet: Meet) -> None:
        self.arrived: Counter[str] = Counter()
        """Requests by whose conversation it is."""
        self.latest: dict[str, RecordedRequest] = {}
        self.unheard: set[str] = set()
        """Those whose process was stopped before a byte of the answer was sent."""
        self.done: set[str] = set()
        """Owners that were given their last reply."""
        self._meet = meet
        self._requests = 0
        self._marks = 0
        self._bad = 0
        self._gates = 0
        self._spoilt: set[bytes] = set()

    def __call__(self, request: RecordedRequest) -> object:
        messages: list[dict[str, Any]] = request.json["messages"]
        key = key_of(messages)
        self._requests += 1
        self.arrived[key] += 1
        self.latest[key] = request
        if self._meet("request", key):
            self.unheard.add(key)
        reply = self._spoilt_reply(request, key) or self._reply(messages, key)
        if isinstance(reply, list) and self._meet("stream", key):
            self._gates += 1  # nobody opens it: half of the reply is all that ever comes
            return [*reply[:-1], f"gate:{self._gates}", *reply[-1:]]
        return reply

    def _spoilt_reply(self, request: RecordedRequest, key: str) -> object:
        """Return a bad answer; a request gets one at the most: a round that fails four times would end its turn."""
        of_program = key.startswith("t")
        number = self._requests
        if request.body in self._spoilt or (number % 11 and number % 13):
            return None
        if not of_program and self._bad == _MOST_BAD:
            return None
        self._spoilt.add(request.body)
        self._bad += not of_program
        return ["text:Half an ans", "half_tool:mark({", "cut"] if number % 11 else "wire:openai-503-overloaded"

    def _reply(self, messages: list[dict[str, Any]], key: str) -> list[str]:
        if key.startswith("t"):
            return self._of_program(messages)
        replies = sum(each["role"] == "assistant" for each in messages)
        if "-" not in key:
            return [f"text:Heard {len(messages)} of them.", "stop"]
        if key.count("-") == 1:
            return self._of_owner(key, replies, messages)
        if has_a_task(key):
            return self._of_task_with_a_task(key, replies, messages)
        return self._of_task(key, replies)

    def _of_program(self, messages: list[dict[str, Any]]) -> list[str]:
        if messages[-1]["role"] == "tool":
            return ["text:All marked.", "stop"]
        # Each mark is asked for once in the whole life of the provider, so one line a mark is the most there can be.
        self._marks += 2
        calls = [f'tool:mark({{"n":{self._marks - back}}})' for back in (1, 0)]
        return [*calls, f'tool:look({{"n":{self._marks}}})', "stop"]

    def _of_task(self, name: str, replies: int) -> list[str]:
        if replies > 0:
            return [f"text:did {name}", "stop"]
        # It asks at `gate` whether it may go on, so that it can be met in the middle.
        asks = f"echo {name} begin >> trace; echo begin {name} > news; read go < gate"
        writes = f"echo {name} >> ledger; echo {name} end >> trace; echo end {name} > news; echo wrote it"
        return [f"tool:shell({_json({'command': f'{asks}; {writes}'})})", "stop"]

    def _of_task_with_a_task(self, name: str, replies: int, messages: list[dict[str, Any]]) -> list[str]:
        if replies == 0:
            return [_start(f"{name}-0"), "stop"]
        if replies == 1:
            return [_wait(_started(messages)), "stop"]
        return self._of_task(name, replies - 2)

    def _of_owner(self, name: str, replies: int, messages: list[dict[str, Any]]) -> list[str]:
        if replies == 0:
            return [*(_start(f"{name}-{number}") for number in range(TASKS)), "stop"]
        if replies == 1:
            tasks = _started(messages)
            return [f"tool:task_stop({_json({'task': tasks[-1]})})", _wait(tasks), "stop"]
        self.done.add(name)
        self._meet("done", name)
        return [f"text:{name} has it all", "stop"]


def has_a_task(name: str) -> bool:
    """Tell whether a task of that name starts one itself."""
    return name.count("-") == 2 and name.endswith("-0")


def is_stopped(name: str) -> bool:
    """Tell whether the owner of a task of that name stops it."""
    return name.count("-") == 2 and name.endswith(f"-{TASKS - 1}")


def _start(name: str) -> str:
    return f"tool:task_start({_json({'brief': f'job {name}'})})"


def _wait(tasks: list[str]) -> str:
    return f"tool:task_wait({_json({'tasks': tasks})})"


def _started(messages: list[dict[str, Any]]) -> list[str]:
    """Return the tasks of which results say that they were started."""
    said = "".join(str(each["content"]) for each in messages if each["role"] == "tool")
    return list(dict.fromkeys(_STARTED.findall(said)))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
