"""Invariants 2, 3 and 4: probes are few, refused bytes stay where they are, and nobody else is asked instead."""

import hashlib
from collections import defaultdict

from stoic.testing.simulation.invariants.watching import Watching
from stoic.testing.simulation.ledger import Ledger, Sent, Taken
from stoic.testing.simulation.setting import hold

_FROZEN_AT = 4
_UNATTENDED_REFUSALS = 7
"""The first turn's four sends and three probes: no more are refused in a segment without a person (SPEC §17.2)."""
_REMEMBERED_MS = 6 * 3_600_000
_SHORTEST_PROBE_MS = 15 * 60_000
_PROBES_MS = (_SHORTEST_PROBE_MS, 3_600_000, 6 * 3_600_000)
"""After the first, second and third refusal: how long nobody but a person causes a send."""


def _key(sent: Sent) -> tuple[str, int, str, str]:
    return sent.thread, sent.generation, sent.fingerprint, sent.provider


class Probes(Watching):
    """2: `r` never exceeds 4, and nothing is sent when frozen but for a person."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no refusal."""
        super().__init__(ledger)
        self._refused: dict[tuple[str, int, str, str], int] = defaultdict(int)
        """Refused sends that no person caused since the provider answered last, by thread, generation, prefix and provider."""
        self._cards: dict[tuple[str, int, str, str], tuple[int, int | None]] = {}
        """Likewise: how many refusals are counted, and when the last was."""
        self._by_request: dict[str, Sent] = {}

    def sent(self, sent: Sent) -> None:
        """A send is due, or a person caused it."""
        self._by_request[sent.id] = sent
        card = self._cards.get(_key(sent))
        if sent.is_stale or sent.is_human or sent.is_summary or card is None:
            return
        count, refused_at = card
        hold(count < _FROZEN_AT, 2, lambda: f"{sent.id} of {sent.thread} goes to {sent.provider}, which is frozen")
        if refused_at is not None and not self.ledger.was_clock_set:
            early_ms = refused_at + _PROBES_MS[count - 1] - sent.at_ms
            hold(
                early_ms <= 0, 2, lambda: f"{sent.id} of {sent.thread} goes to {sent.provider} {early_ms} ms too early"
            )

    def stepped(self, taken: Taken) -> None:
        """A count grows by one real refusal at a time, and a probe that is refused is not sent again with less."""
        thread = taken.lease.thread
        for row in taken.step.rows:
            request = row.content.get("request_id") if row.kind == "attempt" else row.meta.get("request_id")
            sent = self._by_request.get(request or "")
            if row.kind == "refusal":
                content = row.content
                count = content["refusals"]
                hold(count <= _FROZEN_AT, 2, lambda row=row: f"{thread} counts {row.content}")
                key = (thread, row.generation, self.ledger.fingerprints.get(thread, ""), content["provider"])
                before = self._cards.get(key, (0, None))[0]
                most = max(before, 1) if self.ledger.is_human(thread) else before + 1
                hold(count <= most, 2, lambda row=row, n=before: f"{thread} counts from {n} to {row.content}")
                self._cards[key] = (count, content["refused_at"])
            elif row.kind == "quarantine" and row.content["step"]:
                key = (thread, row.generation, self.ledger.fingerprints.get(thread, ""), row.content["provider"])
                is_first = key not in self._cards or self.ledger.is_human(thread)
                hold(is_first, 2, lambda row=row: f"a probe of {thread} is more than one send: {row.content}")
            elif sent is None:
                continue
            elif row.kind == "reply":
                self._cards.pop(_key(sent), None)
                self._refused.pop(_key(sent), None)
            elif row.kind == "attempt" and row.content["class"] == "refusal" and not sent.is_human:
                self._refused[_key(sent)] += 1
                hold(
                    self._refused[_key(sent)] <= _UNATTENDED_REFUSALS,
                    2,
                    lambda sent=sent: (
                        f"{sent.provider} refused {thread} {self._refused[_key(sent)]} times without a person"
                    ),
                )


class RefusedAgain(Watching):
    """3: refused bytes are never sent again, except by a person's message or a probe that is due."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no refusal."""
        super().__init__(ledger)
        self._refused: dict[tuple[str, str, str], int] = {}
        """When bytes were refused last, by hash, provider and model."""
        self._by_request: dict[str, tuple[tuple[str, str, str], int]] = {}

    def sent(self, sent: Sent) -> None:
        """These bytes were not refused lately, by what the requests themselves and the stored attempts say."""
        digest = hashlib.blake2b(sent.body, digest_size=16).hexdigest()
        key = (digest, sent.provider, sent.model)
        self._by_request[sent.id] = (key, sent.at_ms)
        at_ms = self._refused.get(key)
        if at_ms is None or sent.is_stale or sent.is_human or self.ledger.was_clock_set:
            return
        age_ms = sent.at_ms - at_ms
        is_probe = sent.thread.startswith(("repair", "chat")) and age_ms >= _SHORTEST_PROBE_MS
        hold(
            age_ms >= _REMEMBERED_MS or is_probe,
            3,
            lambda: f"{sent.id} of {sent.thread}: {sent.provider} refused these bytes {age_ms} ms ago",
        )

    def stepped(self, taken: Taken) -> None:
        """Remember what was refused."""
        for row in taken.step.rows:
            if (
                row.kind == "attempt"
                and row.content["class"] == "refusal"
                and row.content["request_id"] in self._by_request
            ):
                key, at_ms = self._by_request[row.content["request_id"]]
                self._refused[key] = at_ms  # when it was asked: hours may have passed until this was stored


class OtherProviders(Watching):
    """4: after a refusal a chat or task thread sends to no other provider, until a person or a boundary."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no refusal."""
        super().__init__(ledger)
        self._refusers: dict[tuple[str, int, str], dict[str, int]] = defaultdict(dict)
        """Who has refused and not answered since, and in which turn, by thread, generation and prefix."""

    def sent(self, sent: Sent) -> None:
        """Only who refused is asked; in a person's later turn also the bound model, which comes first in it."""
        key = (sent.thread, sent.generation, sent.fingerprint)
        refusers = self._refusers.get(key)
        if not refusers or sent.provider in refusers or sent.is_stale or sent.thread.startswith("repair"):
            return
        is_first = not any(
            row.turn == sent.turn and row.kind in {"fallback", "refusal"} for row in self.ledger.rows[sent.thread][-40:]
        )
        is_asked_for = sent.is_summary and not self.ledger.has_open_turn(sent.thread)
        hold(
            is_asked_for or (sent.is_human and is_first and sent.turn not in refusers.values()),
            4,
            lambda: f"{sent.id} of {sent.thread} goes to {sent.provider} though {', '.join(refusers)} refused",
        )

    def stepped(self, taken: Taken) -> None:
        """Remember who refused, and who has answered since."""
        thread = taken.lease.thread
        for row in taken.step.rows:
            key = (thread, row.generation, self.ledger.fingerprints.get(thread, ""))
            if row.kind == "attempt" and row.content["class"] == "refusal":
                self._refusers[key][row.content["provider"]] = row.turn
            elif row.kind == "reply":
                self._refusers[key].pop(row.meta.get("provider", ""), None)
