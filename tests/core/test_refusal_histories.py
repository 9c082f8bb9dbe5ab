"""Random histories with refusals, restarts, forks, boundaries and clock jumps keep invariants 1-4, 9, 10, 13 and 16."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace
from tests.core.world import ROUTE, Life, World, called, hash_of, plan, report, said, tool

from stoic.core.commands import CallResult, Route, Send
from stoic.core.plan import Candidate
from stoic.core.refusal import FROZEN_AT, PROBE_DELAYS_MS, REMEMBERED_MS
from stoic.records import Message, Notice, Report, Row

OTHER = Route(provider="other", api="chat", model="n")
HOUR_MS = 3_600_000
JUMPS_MS = [1, 60_000, 15 * 60_000, HOUR_MS, 6 * HOUR_MS, 30 * HOUR_MS]


class RefusedHistories(RuleBasedStateMachine):
    """Any kind of thread, any order of what may happen to it."""

    @initialize(kind=st.sampled_from(["chat", "repair"]), count=st.integers(1, 2))
    def begin(self, kind: Any, count: int) -> None:
        self.accepted: dict[tuple[str, str], list[Message]] = {}
        """The last accepted view by segment and provider."""
        candidates = [Candidate(route=ROUTE, key="A"), Candidate(route=OTHER, key="B")][:count]
        tools = [tool("look", effect="read"), tool("pay")]
        self.plan = plan(*tools, candidates=candidates, thread_kind=kind, renderers={"mail": lambda _: "a mail came"})
        self.bad: set[str] = set()
        self.number = 0
        self.stubborn = False
        self.last_bad = ""
        self.world = World(self.plan, self.reply)
        self.world.result = self.result
        self.next_result = "fine"
        self.told: list[Notice] = []

    # ---- the outside --------------------------------------------------------------------------------

    def reply(self, send: Send) -> Report:
        view = self.world.shown(send)
        self.check_send(send, view)
        shown = " ".join(message.text for message in view)
        if self.stubborn or any(marker in shown for marker in self.bad):
            return report([], "content_filter")
        self.accepted[self.segment(), send.route.provider] = view
        if send.round < 3 and self.next_result:
            return called(("look", f'{{"n":{self.number}}}'))
        return said("done")

    def result(self, operation: str) -> CallResult:
        text, self.next_result = self.next_result, ""
        return CallResult(operation=operation, text=text or "nothing", state="returned")

    def segment(self) -> str:
        return self.world.rows[-1].segment

    def fingerprint(self) -> str:
        return self.world.plan.fingerprint

    def check_send(self, send: Send, view: list[Message]) -> None:
        """Check what no request may break."""
        world, provider = self.world, send.route.provider
        history = world.history()
        state, turn = history.refusal_of(provider), history.open_turn
        assert turn is not None
        shown = "\n".join(message.text for message in view)
        # A later segment may meet the same body anew; within one it never comes back.
        here = [row for row in world.rows if row.segment == self.segment()]
        withheld = [row for row in here if row.quarantine is not None and "canary" in str(row.content)]
        for row in withheld:
            assert marker_of(row) not in shown, "1: a quarantined body was sent"
        if state is not None and state.is_frozen:
            assert turn.is_human, "2: a send while frozen that no person caused"
        if state is not None and not turn.is_human:
            assert state.refused_at_ms is not None
            due_ms = state.refused_at_ms + PROBE_DELAYS_MS[state.refusals - 1]
            assert world.now_ms >= due_ms, "2: a probe before its time"
        known = world.refused.get(
            (hash_of(view), provider, send.route.model)
        )  # a refusal lost in a crash is unrecorded
        if known is not None and world.now_ms < known.refused_at_ms + REMEMBERED_MS:
            assert turn.is_human or state is not None, "3: refused bytes were sent again"
        others = [each for each in history.refusals if each.provider != provider]
        if self.plan.thread_kind == "chat" and not turn.is_human:
            assert not others, "4: another provider after a refusal"
        accepted = self.accepted.get((self.segment(), provider))
        if accepted is not None:
            assert view[: len(accepted)] == accepted, "9: the request does not extend the last accepted one"

    # ---- what happens -------------------------------------------------------------------------------

    def marker(self, *, bad: bool) -> str:
        self.number += 1
        marker = f"canary-{self.number}-x"
        if bad:
            self.bad.add(marker)
        return marker

    def run(self, crashes: int) -> None:
        """Run what the inbox asks for; a crash after so many commands, then a new generator."""
        life = Life(self.world)
        for _ in range(crashes):
            if life.finished:
                break
            life.step()
        if not life.finished:
            life.generator.close()
            Life(self.world).finish()

    @rule(bad=st.booleans(), result=st.sampled_from(["", "fine", "bad"]), crashes=st.integers(0, 30))
    def message(self, *, bad: bool, result: str, crashes: int) -> None:
        self.last_bad = self.marker(bad=True) if result == "bad" else self.last_bad
        self.next_result = self.last_bad if result == "bad" else result
        self.world.message(self.marker(bad=bad))
        self.run(crashes)

    @rule(crashes=st.integers(0, 30))
    @precondition(lambda self: bool(self.last_bad))
    def the_same_result_comes_again(self, crashes: int) -> None:
        self.next_result = self.last_bad
        self.world.message(self.marker(bad=False))
        self.run(crashes)

    @rule(bad=st.booleans(), kind=st.sampled_from(["mail", "other"]), crashes=st.integers(0, 30))
    def event(self, *, bad: bool, kind: str, crashes: int) -> None:
        marker = self.marker(bad=bad)
        self.world.put("event", {"kind": kind, "payload": marker, "text": f"[event] {marker}", "from_thread": "u"})
        self.run(crashes)

    @rule(crashes=st.integers(0, 30))
    def wake(self, crashes: int) -> None:
        self.world.put("wake")
        self.run(crashes)

    @rule(jump_ms=st.sampled_from(JUMPS_MS))
    def time_passes(self, jump_ms: int) -> None:
        self.world.now_ms += jump_ms

    @rule()
    def clock_goes_back(self) -> None:
        self.world.now_ms -= 5_000

    @rule(name=st.sampled_from(["f", "g"]))
    @precondition(lambda self: self.world.history().open_turn is None)
    def tools_change(self, name: str) -> None:
        self.world.plan = replace(self.world.plan, fingerprint=name)

    @rule(what=st.sampled_from(["fresh", "compact"]))
    @precondition(lambda self: self.world.history().open_turn is None and bool(self.world.rows))
    def boundary(self, what: str) -> None:
        self.world.put(what)
        self.run(30)

    @rule(stubborn=st.booleans())
    def provider_changes_its_mind(self, *, stubborn: bool) -> None:
        self.stubborn = stubborn

    @rule()
    @precondition(lambda self: self.world.history().open_turn is None)
    def fork(self) -> None:
        """Go on in a copy of the log, as another process would."""
        copy = World(self.world.plan, self.reply)
        copy.rows, copy.now_ms, copy.refused = list(self.world.rows), self.world.now_ms, self.world.refused
        copy.result, copy.notices = self.result, self.world.notices
        self.world = copy

    # ---- what always holds --------------------------------------------------------------------------

    @invariant()
    def counts_are_bounded_and_skips_move_nothing(self) -> None:
        last: dict[tuple[str, str], Row] = {}
        for row in self.world.rows if hasattr(self, "world") else []:
            if row.kind in {"compaction", "fresh"}:
                last.clear()
            if "refusals" not in row.content:
                continue
            assert 1 <= row.content["refusals"] <= FROZEN_AT, "2: the count is out of bounds"
            known = last.get((row.segment, row.content["provider"]))
            if row.content["skipped"] and known is not None:
                fields = ("refusals", "refused_at")
                assert [row.content[each] for each in fields] == [known.content[each] for each in fields], "16"
            last[row.segment, row.content["provider"]] = row

    @invariant()
    def a_notice_stays_as_it_was_told(self) -> None:
        notices = list(self.world.notices.values()) if hasattr(self, "world") else []
        assert notices[: len(self.told)] == self.told, "13: a notice was told again or changed"
        self.told = notices


def marker_of(row: Row) -> str:
    said = str(row.content)
    begin = said.index("canary")
    return said[begin : said.index("-x", begin) + 2]


RefusedHistories.TestCase.settings = settings(
    max_examples=100,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestRefusedHistories = RefusedHistories.TestCase
