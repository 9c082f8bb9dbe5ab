"""What the refusal scenarios are played on: their provider and a second one over real HTTP, their history from real turns."""

import base64
from collections.abc import Callable
from typing import Any

import msgspec
from tests.runtime.harness import CASES, WIRE_CASES, Bench, outcome

from stoic.core.history import History
from stoic.core.replay import messages
from stoic.records import ImagePart, Outcome, RefusedBytes, Row
from stoic.runtime.agents import Agent
from stoic.runtime.threads import Thread
from stoic.settings import Access, Secret, Settings
from stoic.testing.recording import RecordedRequest
from stoic.tools.declaration import Tool
from stoic.wiring import Runtime

Scenario = dict[str, Any]
SCENARIOS: dict[str, Scenario] = {
    each["id"]: each for each in msgspec.json.decode((CASES / "refusals_scenarios.json").read_bytes())["cases"]
}

SECOND = "mistral:second"
"""The candidate that must not be asked because of a refusal."""
_PROVIDERS = {"azure-openai": "azure", "google": "gemini", "litellm-proxy": "anthropic"}
"""What the wire cases call a provider, where we call it otherwise."""
_GO_ON = "Go on."


class Stage:
    """One scenario: the thread it is about, what was sent since its increment, and what was seen of it."""

    def __init__(self, bench: Bench, scenario: Scenario) -> None:
        self.bench = bench
        self.repro: dict[str, Any] = scenario["repro"]
        self.model = model_of(scenario)
        self.ran: list[str] = []
        """Tools that ran, by name."""
        self.endings: list[Outcome] = []
        """Of the turns since the increment."""
        self.sent: dict[str, list[RecordedRequest]] = {}
        """By step: the requests that it led to; those that made the accepted history are in none."""
        self.rows: list[Row] = []
        self.refused: list[RefusedBytes] = []
        self.notices: list[str] = []
        """The texts of all notices."""

    @property
    def requests(self) -> list[RecordedRequest]:
        """All requests since the increment."""
        return [request for requests in self.sent.values() for request in requests]

    @property
    def first_turn(self) -> list[RecordedRequest]:
        """The requests of the turn that brought the increment."""
        return next(iter(self.sent.values()))

    def runtime(self) -> Runtime:
        """Return a runtime whose two providers are the scripted one."""
        access = Access(base_url=self.bench.provider.base_url, key=Secret("k"))
        providers = [self.model.partition(":")[0], SECOND.partition(":")[0]]
        settings = Settings(database=str(self.bench.path), access=dict.fromkeys(providers, access))
        return Runtime(settings=settings, clock=self.bench.clock)

    def thread(self, runtime: Runtime, name: str = "t", *, second: bool = True, **fields: Any) -> Thread:
        """Return a handle on a thread; `fields` are its kind and scope."""

        def page(number: int) -> str:
            self.ran.append("page")
            return self.results[number]

        def write_file(path: str, content: str) -> str:
            self.ran.append("write_file")
            return f"{path}: {len(content)}"

        agent = Agent(
            self.model,
            fallbacks=[SECOND] if second else [],
            instructions="Be brief.",
            tools=[Tool(page, effect="read"), Tool(write_file)],
            permissions="allow",
        )
        return runtime.thread(name, agent, session="s", **fields)

    @property
    def results(self) -> list[str]:
        """What the calls of the increment's own reply return."""
        return results_of(self.repro)

    async def build_history(self, thread: Thread) -> None:
        """Have the accepted history said, a turn for each reply; the calls of the increment are made by its own turn."""
        said = _GO_ON
        for entry in self.repro["accepted_history"]:
            if entry["role"] == "user":
                said = entry["content"]
            elif entry["content"] is not None:
                assert outcome(await thread.run(said)).text == entry["content"]
                said = _GO_ON

    async def deliver(self, thread: Thread) -> None:
        """Bring the increment: a person's words, an event with an image, or the results of one reply's calls."""
        (first, *_) = self.repro["increment"]
        if first["role"] == "user":
            ended = await thread.run(first["content"], self.bench.emit)
        elif isinstance(first["content"], list):
            text, image = first["content"]
            seen = ImagePart(media_type="image/png", data_base64=encoded(image["ref"]))
            await thread.post("screenshot", {}, text=text["text"], images=[seen])
            ended = await thread.resume(self.bench.emit)
        else:
            ended = await thread.run(_GO_ON, self.bench.emit)
        self.endings.append(outcome(ended))

    async def look(self, runtime: Runtime, thread: str = "t") -> None:
        """Read what the log says now."""
        self.rows = await self.bench.rows(runtime, thread)
        self.refused = await runtime.store.refused_since(0)
        self.notices = [each.notice.text for each in await runtime.store.notices()]

    def holding(self, needle: str) -> int:
        """Return how many requests since the increment hold a text."""
        return sum(request.holds(needle) for request in self.requests)

    def is_accepted(self, needle: str) -> bool:
        """Tell whether a model is shown a text by an accepted row."""
        view = messages([row for row in self.rows if row.accepted])
        return needle in msgspec.json.encode(view).decode()

    def history(self) -> History:
        """Return where the thread stands by its log."""
        history = History("t")
        for row in self.rows:
            history.fold(row)
        return history

    def has_switched(self) -> bool:
        """Tell whether the second provider was asked, or is named as an answerer anywhere in the log."""
        second = SECOND.partition(":")[2]
        asked = any(request.json.get("model") == second for request in self.bench.provider.requests)
        return asked or any(row.kind == "fallback" for row in self.rows)

    def words(self) -> str:
        """Return everything that a person is told: events, notices, and how turns ended."""
        return msgspec.json.encode([self.bench.events, self.notices, self.endings]).decode()


def model_of(scenario: Scenario) -> str:
    """Return the model whose wire the scenario's refusal is of."""
    wire = WIRE_CASES[scenario["repro"]["provider_script"]["rules"][0]["reply"]]
    provider = _PROVIDERS.get(wire["provider"], wire["provider"])
    if provider == "openai" and wire["api"] == "chat.completions":
        provider = "openai-chat"
    return f"{provider}:m"


def script_of(scenario: Scenario) -> dict[str, Any]:
    """Return the scripted provider's script: the rules, the replies of the accepted history, and the increment's calls."""
    repro = scenario["repro"]
    replies = [["text:" + said, "stop"] for said in _assistant_texts(repro)]
    results = results_of(repro)
    if results:
        replies.append([f'tool:page({{"number":{number}}})' for number in range(len(results))])
    images = [
        each["content"][1]["ref"]
        for each in repro["increment"]
        if each["role"] == "tool" and isinstance(each["content"], list)
    ]
    script = repro["provider_script"]
    rules = [
        rule | {"request_contains": encoded(rule["request_contains"])} if rule["request_contains"] in images else rule
        for rule in script["rules"]
    ]
    return {"rules": rules, "replies": replies, "default": script["default"]}


def encoded(text: str) -> str:
    """Return a text as an image's data."""
    return base64.b64encode(text.encode()).decode()


def results_of(repro: dict[str, Any]) -> list[str]:
    """Return the results that an increment brings; one with an image comes as an event, since no tool returns images."""
    return [
        each["content"] for each in repro["increment"] if each["role"] == "tool" and isinstance(each["content"], str)
    ]


def triggers_of(scenario: Scenario) -> list[str]:
    """Return what the scenario's provider refuses, as it stands in a request."""
    return [rule["request_contains"] for rule in script_of(scenario)["rules"]]


def _assistant_texts(repro: dict[str, Any]) -> list[str]:
    return [each["content"] for each in repro["accepted_history"] if each["role"] == "assistant" and each["content"]]


def judge(name: str, wanted: Any, facts: dict[str, Callable[[], Any]]) -> None:
    """Check one expectation of the case file against the facts, by their names there."""
    value = facts[name]()
    if name.startswith("max_"):
        holds = value <= wanted
    elif name.endswith("_min"):
        holds = value >= wanted
    elif name.endswith("_in"):
        holds = value in wanted
    elif name.endswith("_not"):
        holds = wanted not in value
    elif isinstance(value, set):
        holds = wanted in value
    else:
        holds = value == wanted
    assert holds, f"{name}: wanted {wanted!r}, found {value!r}"
