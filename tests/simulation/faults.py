"""Deliberate faults of the program, each a small mistake that somebody could make, and the invariants that must notice it.

The checker is checked: `test_faults` makes each of them in a copy of the program and demands that simulated worlds find it.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Edit:
    """A text of a file, which must stand there exactly once, and what is written instead."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Fault:
    """One mistake."""

    name: str
    """What the program does then."""
    invariants: frozenset[int]
    """Any of these must notice, by their numbers in SPEC §16."""
    edits: tuple[Edit, ...]
    first_seed: int
    """The seed of the world in which it is found, counted from 0."""
    turns: int
    """After so many turns in all, counted from seed 0."""
    setting: dict[str, Any] = field(default_factory=dict[str, Any])
    """What makes it likelier than the settings of the seeds do."""


def fault(
    name: str,
    invariants: int | tuple[int, ...],
    *edits: tuple[str, str, str],
    seed: int = 0,
    turns: int = 0,
    **setting: Any,
) -> Fault:
    """Write down a fault."""
    numbers = (invariants,) if isinstance(invariants, int) else invariants
    return Fault(name, frozenset(numbers), tuple(Edit(*each) for each in edits), seed, turns, setting)


FAULTS = (
    # ---- 1: what is withheld appears nowhere ------------------------------------------------------
    fault(
        "a receipt carries what the tools said",
        1,
        (
            "core/receipt.py",
            "    text = outcome.text[:SHOWN_CHARACTERS]\n",
            (
                '    said = [row.content["text"] for each in state.rounds for row in each.results]\n'
                '    text = "\\n".join([outcome.text, *said])[:SHOWN_CHARACTERS]\n'
            ),
        ),
        seed=1,
        turns=25,
    ),
    fault(
        "the evidence of a stop tells the arguments of a refused task's last call",
        1,
        (
            "core/receipt.py",
            "    if refused:\n        return ToolEvidence(",
            "    if refused and not call.call.arguments:\n        return ToolEvidence(",
        ),
        seed=20,
        turns=466,
    ),
    fault(
        "a notice quotes the call that waits for a person",
        1,
        (
            "core/notice.py",
            '        "approval_wanted",\n        thread,\n        operation_id=question.operation,\n',
            '        "approval_wanted",\n        f"{thread} {question.arguments}",\n        operation_id=question.operation,\n',
        ),
        seed=0,
        turns=13,
    ),
    fault(
        "what a call was given is logged when it raises",
        1,
        (
            "runtime/execution.py",
            "            result = end(_raised(operation, error))\n        return await",
            (
                "            result = end(_raised(operation, error))\n"
                '            _log.warning("%s failed with %s", tool.name, planned.call.arguments)\n'
                "        return await"
            ),
        ),
        seed=0,
        turns=24,
    ),
    fault(
        "a model reads the content of a result, not its view",
        1,
        ("core/replay.py", "    view: Json = row.view or row.content\n", "    view: Json = row.content\n"),
        seed=0,
        turns=3,
    ),
    fault(
        "a copy that compaction keeps holds what its original withholds",
        1,
        ("core/generation.py", "content=shown_content(row),", "content=row.content,"),
        seed=50,
        turns=1283,
        small_windows=True,
    ),
    fault(
        "the replacement of an event has its payload",
        1,
        (
            "core/quarantine/forms.py",
            '_COPIED = ("kind", "source_channel",',
            '_COPIED = ("kind", "payload", "source_channel",',
        ),
        ("core/quarantine/forms.py", "if isinstance(content.get(name), str)}", "if name in content}"),
        seed=2,
        turns=62,
    ),
    fault(
        "a page that was withheld is sent when it is read again",
        1,
        ("core/refused.py", "    if not ctx.history.has_withheld:\n", "    if ctx.history.has_withheld:\n"),
        seed=6,
        turns=190,
    ),
    fault(
        "a placeholder keeps the body behind it, and is told by how it begins",
        1,
        (
            "core/quarantine/forms.py",
            'view = {"text": placeholder_text(placeholder)} | failure_of(shown)',
            'view = {"text": placeholder_text(placeholder) + shown["text"]} | failure_of(shown)',
        ),
        (
            "core/quarantine/template.py",
            (
                "        found = self._pattern.fullmatch(text)\n"
                "        return found.groupdict() if found and self.write(found.groupdict()) == text else None"
            ),
            "        found = self._pattern.match(text)\n        return found.groupdict() if found else None",
        ),
        seed=0,
        turns=5,
    ),
    fault(
        "the words of a refused chat stay in the view once something else was withheld",
        1,
        (
            "core/endings.py",
            'elif row.kind != "compaction" and (kind_of(row) != "message" or turn_of(row) == ctx.state.number):',
            'elif row.kind != "compaction" and not ctx.state.ladder:',
        ),
        seed=6,
        turns=181,
    ),
    # ---- 2: few probes ----------------------------------------------------------------------------
    fault(
        "a frozen provider gets a probe",
        2,
        (
            "core/refusal.py",
            '    return "no" if due_ms is None or now_ms < due_ms else "probe"\n',
            '    return "no" if due_ms is not None and now_ms < due_ms else "probe"\n',
        ),
        seed=3,
        turns=107,
        is_slow=True,
    ),
    fault(
        "a refusal that a person caused counts like any other",
        2,
        (
            "core/refusal.py",
            "refusals=max(before, 1) if human else min(before + 1, FROZEN_AT),",
            "refusals=min(before + 1, FROZEN_AT),",
        ),
        seed=0,
        turns=15,
    ),
    fault(
        "each probe comes after a quarter of an hour",
        2,
        (
            "core/refusal.py",
            "PROBE_DELAYS_MS[self.refusals - 1]\n\n    @property\n    def probes_used",
            "PROBE_DELAYS_MS[0]\n\n    @property\n    def probes_used",
        ),
        seed=20,
        turns=465,
    ),
    fault(
        "a probe climbs the ladder",
        2,
        (
            "core/refused.py",
            "    is_first = ctx.history.refusal_of(provider) is None or ctx.is_human\n",
            "    is_first = True\n",
        ),
        seed=6,
        turns=212,
    ),
    # ---- 3: refused bytes -------------------------------------------------------------------------
    fault(
        "refused bytes are not remembered",
        3,
        (
            "core/refused.py",
            "        memory=refused_bytes(route, verdict, request_hash, ctx.now_ms),\n",
            "        memory=[],\n",
        ),
        seed=4,
        turns=137,
    ),
    fault(
        "refused bytes are sent again after minutes",
        3,
        ("core/refusal.py", "REMEMBERED_MS = 6 * HOUR_MS\n", "REMEMBERED_MS = 6 * MINUTE_MS\n"),
        seed=4,
        turns=137,
    ),
    fault(
        "what a task is told counts as a person's message",
        3,
        (
            "core/steps.py",
            "        return self.state.is_human and not self.is_task\n",
            "        return self.state.is_human\n",
        ),
        seed=4,
        turns=148,
    ),
    # ---- 4: no other provider ---------------------------------------------------------------------
    fault(
        "an outage leads round a refusal",
        4,
        (
            "core/routing.py",
            "    if not _may_move(ctx) and ctx.history.has_refusal:\n        return None",
            "    if not _may_move(ctx) and ctx.state.is_exhausted:\n        return None",
        ),
        seed=3,
        turns=104,
    ),
    fault(
        "an outage leads round a round that was refused and sent again with less",
        4,
        (
            "core/history.py",
            "        return bool(self.refusals) or any(each == self.fingerprint for each, _ in self._unanswered)\n",
            "        return bool(self.refusals)\n",
        ),
        seed=3,
        turns=104,
    ),
    fault(
        "a chat whose ladder is exhausted asks the next candidate",
        4,
        ("core/refusal.py", 'others=about_bytes and kind == "repair"', "others=about_bytes"),
        seed=0,
        turns=19,
    ),
    # ---- 5: one outcome, one delivery, nothing lost -------------------------------------------------
    fault(
        "an owner's inbox does not get what its task delivers",
        5,
        ("store/memory.py", "            if reached:\n                self._put(entry_of(delivery, outcome))\n", ""),
        seed=0,
        turns=22,
    ),
    fault(
        "a task that is stopped delivers nothing",
        5,
        (
            "core/endings.py",
            '    if ctx.is_task:\n        step["deliveries"]',
            '    if ctx.is_task and outcome.outcome != "cancelled":\n        step["deliveries"]',
        ),
        seed=0,
        turns=18,
    ),
    fault(
        "events that come together are taken, and the last alone is read",
        5,
        (
            "core/opening.py",
            "        rows = [_event_row(ctx, entry) for entry in entries]\n",
            "        rows = [_event_row(ctx, entry) for entry in entries[-1:]]\n",
        ),
        seed=1,
        turns=38,
    ),
    fault(
        "a message makes events that are unread disappear",
        (0, 5),
        (
            "core/opening.py",
            'if other.kind in {"cancel", "answer", "grant"}]\n    stale +=',
            'if other.kind != "switch"]\n    stale +=',
        ),
        seed=1,
        turns=30,
    ),
    fault(
        "a turn that was open when its process died is not gone on with",
        5,
        (
            "store/memory.py",
            '            if state.phase == "open" or is_due or entries:\n',
            "            if is_due or entries:\n",
        ),
        seed=1,
        turns=48,
    ),
    fault(
        "a turn that waits for a date is not woken",
        5,
        (
            "store/rules.py",
            '        wake_at_ms=None if parked is None else parked.get("until_ms"),\n',
            "        wake_at_ms=None,\n",
        ),
        seed=12,
        turns=474,
        is_slow=True,
    ),
    fault(
        "who waited for a message is told the newest outcome",
        5,
        (
            "runtime/threads.py",
            'told = next((row for row in rows if row.kind == "outcome" and row.turn == turn), None)',
            'told = next((row for row in reversed(rows) if row.kind == "outcome" and turn), None)',
        ),
        seed=5,
        turns=174,
    ),
    # ---- 6: doors ---------------------------------------------------------------------------------
    fault(
        "the core has no door behind a tombstone",
        (0, 6),
        (
            "core/turn.py",
            "    if history.tombstone is not None:\n        return (yield from shut(ctx, inbox))\n",
            "",
        ),
        seed=1,
        turns=50,
    ),
    fault(
        "neither the core nor the store has a door behind a tombstone",
        6,
        (
            "core/turn.py",
            "    if history.tombstone is not None:\n        return (yield from shut(ctx, inbox))\n",
            "",
        ),
        (
            "store/rules.py",
            "    if after.tombstone_seq:\n        _check_behind_tombstone(state, after, lease, step)\n",
            "",
        ),
        seed=1,
        turns=50,
    ),
    fault(
        "a refused task gets no tombstone",
        6,
        ("core/endings.py", "    if tombstone:\n        rows.append(_tombstone(ctx, refusal))\n", ""),
        seed=1,
        turns=25,
    ),
    fault(
        "a message knocks at a tombstone and nobody says so",
        6,
        (
            "runtime/tasks.py",
            "        if record.is_stopped:\n            raise",
            "        if record.is_stopped is None:\n            raise",
        ),
        seed=26,
        turns=631,
    ),
    fault(
        "a message that is sent by its thread knocks at a tombstone and nobody says so",
        6,
        (
            "runtime/threads.py",
            "                    if ran.is_stopped:\n                        raise",
            "                    if ran.is_stopped is None:\n                        raise",
        ),
        seed=2,
        turns=72,
    ),
    fault(
        "a tombstoned task may own new tasks",
        6,
        (
            "runtime/tasks.py",
            "        if above.is_stopped:\n            raise",
            "        if above.is_stopped is None:\n            raise",
        ),
        seed=3,
        turns=96,
    ),
    fault(
        "a tombstoned task may be switched to another model",
        6,
        ("runtime/threads.py", "        await self._require_open_door()\n", ""),
        seed=1,
        turns=28,
    ),
    fault(
        "a tombstoned task may be summed up or begun afresh",
        6,
        (
            "runtime/boundaries.py",
            "    if any(row.kind == TOMBSTONE_KIND for row in loaded.rows):\n        raise",
            "    if loaded.rows is None:\n        raise",
        ),
        seed=4,
        turns=135,
    ),
    fault(
        "a tombstoned task may be forked",
        (5, 6),
        (
            "runtime/forking.py",
            "    if history.tombstone is not None:\n        raise",
            "    if history is None:\n        raise",
        ),
        seed=6,
        turns=205,
    ),
    # ---- 7: no write twice ------------------------------------------------------------------------
    fault(
        "a call starts before the journal says that it runs",
        7,
        (
            "core/starting.py",
            'return replace(edited(ctx, operation), state="running", started_at=ctx.now_ms, runs=operation.runs + 1)',
            "return edited(ctx, operation)",
        ),
        seed=0,
        turns=5,
    ),
    fault(
        "an operation that was cut off runs again without its status being asked",
        7,
        ("core/calls.py", '    if answer == "not_done" or (safe', '    if answer != "done" or (safe'),
        seed=1,
        turns=43,
    ),
    fault(
        "an operation that was cut off counts as not done where its tool has a status function",
        7,
        (
            "core/calls.py",
            '    if not can_be_asked(ctx, operation):\n        return "unknown", []\n',
            '    if not can_be_asked(ctx, operation):\n        return "unknown", []\n    if operation.runs == 1:\n        return "not_done", []\n',
        ),
        seed=13,
        turns=352,
    ),
    fault(
        "any tool's operation may run again after its process died",
        7,
        (
            "core/calls.py",
            "    safe = tool is not None and (tool.idempotent or (tool.keyed and not tool.has_status))\n",
            "    safe = tool is not None\n",
        ),
        seed=1,
        turns=43,
    ),
    fault(
        "the ends of calls are not written down",
        7,
        ("runtime/execution.py", "            self._ends.keep(operation, result)\n", ""),
        seed=0,
        turns=5,
    ),
    fault(
        "the ends of calls are not looked for after a crash",
        7,
        (
            "runtime/execution.py",
            "        found = self._ends.find(operations)\n",
            "        found = list[CallResult]()\n",
        ),
        seed=0,
        turns=5,
    ),
    fault(
        "a write that lost its connection counts as failed",
        7,
        (
            "runtime/execution.py",
            "    lost = (TimeoutError, ConnectionError, subprocess",
            "    lost = (TimeoutError, subprocess",
        ),
        seed=0,
        turns=22,
    ),
    fault(
        "a write that ran out of time counts as failed",
        7,
        (
            "runtime/execution.py",
            "    if operation.effect in EFFECTS and _may_have_happened(chain):\n",
            "    if operation.effect in EFFECTS and not timed_out and _may_have_happened(chain):\n",
        ),
        seed=6,
        turns=203,
    ),
    # ---- 8: whole calls only ----------------------------------------------------------------------
    fault(
        "a stream that ends without the protocol's end is complete",
        8,
        (
            "core/classify/replies.py",
            "    if reading.stream and not reading.ended:\n",
            "    if reading.stream and cut and not reading.ended:\n",
        ),
        (
            "core/classify/replies.py",
            "    if not reading.ended:  # a body",
            "    if not reading.ended and not reading.stream:  # a body",
        ),
        seed=8,
        turns=239,
    ),
    fault(
        "a new finish reason counts as a normal end",
        8,
        (
            "core/classify/replies.py",
            "    elif mark is None and finish and finish not in NORMAL:\n        mark = UNKNOWN\n",
            "",
        ),
        seed=0,
        turns=5,
    ),
    fault(
        "a call in a reply that hit its limit is run",
        8,
        (
            "core/turn.py",
            "        and not any(isinstance(part, CallPart) for part in parts)\n",
            "",
        ),
        seed=0,
        turns=1,
    ),
    # ---- 9: stable bytes --------------------------------------------------------------------------
    fault(
        "the system prompt tells the time",
        9,
        (
            "runtime/sending.py",
            "renderer.head(connection.model, agent.instructions, agent.schemas, parameters)",
            'renderer.head(connection.model, f"{agent.instructions} {self._outside.clock.now_ms()}", agent.schemas, parameters)',
        ),
        seed=0,
        turns=2,
    ),
    fault(
        "the tools that were called come first",
        9,
        (
            "runtime/sending.py",
            "        return transcript.body(renderer.head(connection.model, agent.instructions, agent.schemas, parameters))\n",
            (
                "        turn = live.history.turn\n"
                "        called = {each.call.name for each in turn.calls} if turn else set()\n"
                "        tools = sorted(agent.schemas, key=lambda each: each.name not in called)\n"
                "        return transcript.body(renderer.head(connection.model, agent.instructions, tools, parameters))\n"
            ),
        ),
        seed=0,
        turns=2,
    ),
    fault(
        "thinking is replayed for the newest reply alone",
        9,
        (
            "wire/messages.py",
            "            found += self._group(group, marked=newest and position == len(grouped))\n",
            (
                "            kept = newest or not group.reply\n"
                "            reply = group.reply if kept else replace(group.reply, pieces=[each for each in group.reply.pieces if not isinstance(each, ThinkingPart)])\n"
                "            found += self._group(replace(group, reply=reply), marked=newest and position == len(grouped))\n"
            ),
        ),
        (
            "wire/messages.py",
            "from collections.abc import Mapping, Sequence\n",
            "from collections.abc import Mapping, Sequence\n\nfrom msgspec.structs import replace\n",
        ),
        seed=4,
        turns=141,
    ),
    # ---- 10: accepted rows stay -------------------------------------------------------------------
    fault(
        "accepted rows are withheld like others",
        10,
        (
            "core/history.py",
            "        self.increment.clear()\n        turn.waits.now = None\n",
            "        turn.waits.now = None\n",
        ),
        ("store/rules.py", '    if facts.accepted:\n        return "the row is accepted"\n', ""),
        seed=0,
        turns=19,
    ),
    fault(
        "accepted rows are withheld like others, and the store objects",
        (0, 10),
        (
            "core/history.py",
            "        self.increment.clear()\n        turn.waits.now = None\n",
            "        turn.waits.now = None\n",
        ),
        seed=0,
        turns=21,
    ),
    fault(
        "the store forgets the first row that a step accepts",
        10,
        (
            "store/memory.py",
            "        for index in range(thread.state.accepted_upto, step.accept_upto):\n",
            "        for index in range(thread.state.accepted_upto + 1, step.accept_upto):\n",
        ),
        seed=0,
        turns=24,
    ),
    # ---- 11: the binding --------------------------------------------------------------------------
    fault(
        "a fallback binds the thread to who answered",
        11,
        (
            "core/history.py",
            '        turn.stand_in = (to["provider"], to["model"])\n',
            (
                '        turn.stand_in = (to["provider"], to["model"])\n'
                "        self.binding = f\"{to['provider']}:{to['model']}\"\n"
            ),
        ),
        seed=0,
        turns=15,
    ),
    fault(
        "a switch behind an event decides its turn and is in the log of a later one",
        11,
        (
            "core/opening.py",
            "    switches = switches_before(inbox)\n",
            '    switches = [other for other in before if other.kind == "switch"]\n',
        ),
        seed=22,
        turns=508,
    ),
    # ---- 12: what subscribers see -----------------------------------------------------------------
    fault(
        "what a failed attempt had said stays on the screen",
        12,
        (
            "runtime/narration.py",
            '    yield RoundRolledBack(round=row.round, attempt=attempt, discarded_calls=content.get("discarded", []))\n',
            (
                '    if content.get("discarded"):\n'
                '        yield RoundRolledBack(round=row.round, attempt=attempt, discarded_calls=content["discarded"])\n'
            ),
        ),
        seed=0,
        turns=24,
    ),
    fault(
        "a round is shown before it is stored",
        12,
        (
            "runtime/runner.py",
            "        await self._store.append(self._lease, step)\n        self._execution.stored(command.operations)\n",
            (
                "        for event in narrate(rows, command.operations, self._live.history):\n"
                "            self._emit(event)\n"
                "        await self._store.append(self._lease, step)\n        self._execution.stored(command.operations)\n"
            ),
        ),
        (
            "runtime/runner.py",
            "        for event in narrate(rows, command.operations, self._live.history):\n            self._emit(event)\n        return Committed",
            "        return Committed",
        ),
        seed=1,
        turns=50,
    ),
    # ---- 13: notices ------------------------------------------------------------------------------
    fault(
        "a critical notice goes into the digest",
        13,
        (
            "core/notice.py",
            'return stored.notice.priority == "normal" and stored.notice.kind != DIGEST and not begun',
            "return stored.notice.kind != DIGEST and not begun",
        ),
        seed=0,
        turns=24,
    ),
    fault(
        "a notice that no channel takes at once is dropped",
        13,
        (
            "runtime/notices.py",
            "    if claimed.attempts > len(RETRY_WAITS_MS):\n",
            "    if claimed.attempts:\n",
        ),
        seed=0,
        turns=24,
    ),
    fault(
        "the questions of a thread share a key",
        13,
        ("core/notice_forms.py", 'key="approval_wanted:{operation_id}"', 'key="approval_wanted:{thread_id}"'),
        seed=0,
        turns=13,
    ),
    fault(
        "a day's budget of notices begins anew with each look",
        13,
        ("runtime/notices.py", "budget=budget if is_counted(known) else None)", "budget=None)"),
        (
            "runtime/notices.py",
            "        used = await store.notices_used(now_ms - now_ms % DAY_MS)\n",
            "        used = 0\n",
        ),
        seed=2,
        turns=76,
    ),
    # ---- 14: any prefix renders --------------------------------------------------------------------
    fault(
        "a cancelled call gets no result",
        14,
        (
            "core/endings.py",
            "        rows.append(result_row(ctx, operation, text, FailureClass.CANCELLED))\n",
            "        rows += [result_row(ctx, operation, text, FailureClass.CANCELLED)] if _has_begun(ctx, operation) else []\n",
        ),
        seed=7,
        turns=220,
    ),
    fault(
        "a call that has no result yet is shown without one",
        14,
        (
            "core/replay.py",
            "        return [_result(call, get(index)) for index, call in enumerate(self.calls)]\n",
            "        return [_result(call, get(index)) for index, call in enumerate(self.calls) if get(index)]\n",
        ),
        seed=0,
        turns=1,
    ),
    fault(
        "results stand in the order in which they came",
        14,
        (
            "core/replay.py",
            "        return [_result(call, get(index)) for index, call in enumerate(self.calls)]\n",
            (
                "        order = [*self.results, *(index for index in range(len(self.calls)) if index not in self.results)]\n"
                "        return [_result(self.calls[index], get(index)) for index in order]\n"
            ),
        ),
        seed=0,
        turns=4,
    ),
    fault(
        "cache breakpoints stay where they were",
        14,
        (
            "wire/messages.py",
            "marked=newest and position == len(grouped))",
            "marked=position == len(grouped))",
        ),
        seed=0,
        turns=13,
    ),
    fault(
        "thinking goes to whoever is asked",
        14,
        (
            "wire/messages.py",
            "        return [_thinking(piece)] if (piece.provider, piece.model) == (self.provider, self.model) else []\n",
            "        return [_thinking(piece)]\n",
        ),
        seed=0,
        turns=13,
    ),
    # ---- 15: one retry budget ---------------------------------------------------------------------
    fault(
        "what is below the runtime sends again by itself",
        15,
        (
            "runtime/sending.py",
            "        return await connection.send.send(self._request(connection, body), on_delta)\n",
            (
                "        report = await connection.send.send(self._request(connection, body), on_delta)\n"
                "        if report.exception is None or report.exception.after_first_byte:\n"
                "            return report\n"
                "        return await connection.send.send(self._request(connection, body), on_delta)\n"
            ),
        ),
        seed=3,
        turns=83,
    ),
    # ---- 16: a skip moves no clock -----------------------------------------------------------------
    fault(
        "a skip renews the cooldown",
        16,
        (
            "core/routing.py",
            "        yield from commit(ctx, Commit(rows=[card]))\n",
            (
                "        known_health = ctx.health.get(candidate.key)\n"
                "        renewed = [] if known_health is None else [replace(known_health, failed_at_ms=ctx.now_ms)]\n"
                "        yield from commit(ctx, Commit(rows=[card], health=renewed))\n"
            ),
        ),
        seed=0,
        turns=15,
    ),
    fault(
        "a skip dates the refusal anew",
        16,
        (
            "core/routing.py",
            "    copied = card(known, skipped=True)\n",
            "    copied = card(replace(known, refused_at_ms=ctx.now_ms), skipped=True)\n",
        ),
        seed=3,
        turns=83,
    ),
    # ---- 17: nothing goes on for ever --------------------------------------------------------------
    fault(
        "rounds are not bounded",
        17,
        ("core/budget.py", "        rounds=state.round - 1,\n", "        rounds=0,\n"),
        seed=4,
        turns=133,
    ),
    fault(
        "a model is asked again after each empty reply",
        17,
        (
            "core/turn.py",
            "    if failure in _NUDGES and failure not in state.nudges:\n",
            "    if failure in _NUDGES:\n",
        ),
        seed=6,
        turns=196,
    ),
    fault(
        "a turn waits for its route to cool down again and again",
        17,
        (
            "core/parking.py",
            (
                "    if state.waits.cooldowns >= len(COOLDOWN_WAITS_MS):\n        return None\n"
                "    until_ms = max(min(opening_ms), ctx.now_ms + COOLDOWN_WAITS_MS[state.waits.cooldowns])\n"
            ),
            "    until_ms = max(min(opening_ms), ctx.now_ms + COOLDOWN_WAITS_MS[0])\n",
        ),
        seed=15,
        turns=402,
        outage_percent=30,
    ),
    fault(
        "what a person asked waits for its route to cool down",
        17,
        (
            "core/parking.py",
            "plan.is_attended or state.is_human or ctx.has_message\n",
            "plan.is_attended or ctx.has_message\n",
        ),
        (
            "core/parking.py",
            "    return None if ctx.is_human else for_routes(ctx)\n",
            "    return for_routes(ctx)\n",
        ),
        seed=0,
        turns=12,
        outage_percent=30,
    ),
    # ---- 18: the fence ----------------------------------------------------------------------------
    fault(
        "the store takes steps of a lease that is over, and only the numbers of their rows stop them",
        (0, 18),
        ("store/rules.py", "    check_lease(state, lease)\n    phase, parked", "    phase, parked"),
        seed=1,
        turns=49,
    ),
    fault(
        "the store asks for the lease only where a step has rows",
        18,
        (
            "store/rules.py",
            "    check_lease(state, lease)\n    phase, parked",
            "    if step.rows:\n        check_lease(state, lease)\n    phase, parked",
        ),
        seed=31,
        turns=773,
    ),
)
