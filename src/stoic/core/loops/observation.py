"""What the counters need of a call: hashes and flags, without a byte of arguments or results."""

from typing import Literal

from stoic.core.loops.call import Effect
from stoic.record import Record

Doing = Literal["read", "write", "wait", "run"]
"""What a shell command does: only looks, surely changes something, only waits, or cannot be told."""


class Nature(Record, frozen=True, cache_hash=True):
    """How a call is counted. `effect` None: nothing says what the tool does, so nothing is left out of account."""

    effect: Effect | None = None
    creates: bool = False
    """It makes something new each time, so an id in its result is a duplicate's, not news."""
    repeatable: bool = True
    """Running it again after something changed is a new experiment."""
    bookkeeping: bool = False
    """It only keeps the agent's own notes, so nothing outside changes."""
    clock: bool = False
    """It reads the clock, so a new time is not news."""
    doing: Doing | None = None
    """Of a shell command: what it does, as far as its words tell."""
    acts: bool = False
    """It moves something along, such as a page or a service: when a look shows something new, it may move again."""
    traced: bool = False
    """It deals with requests, traces or incidents, so their ids are data."""


class Identity(Record, frozen=True):
    """What a call is for the counters. Equal keys: the same call; equal `exact`: paging and limits equal too."""

    tool: str
    nature: Nature
    key: str
    exact: str
    spelling: str
    """Hash of the arguments as written; differs where only spacing, order or words beside them differ."""
    target: str
    """Hash of the tool and the place it addresses, such as a host or a path."""
    whole: str
    """Hash of the tool alone: the target of what concerns all of it."""
    contained: bool = True
    """Whether the target may have credentials of its own, rather than being one thing or path among many."""
    known: bool = True
    frozen_limit: int | None = None
    batch: int = 0


class Outcome(Record, frozen=True):
    """What came of a call: equal hashes mean that nothing but noise differed."""

    masked: str
    """Hash of the outcome without noise."""
    pair: str
    """Hash of the call's identity with the masked outcome: what is news or not."""
    raw: str
    """Hash of the outcome as it came; empty when it held no noise, since then nothing asks for it."""
    noise: int
    """Which kinds of noise were found, as bits of `noises.NOISES`."""
    failed: bool
    denial: str = ""
    """Of a failure: `denied`, `account` (credential or quota), or empty."""
    silent: bool = False
    """Whether nothing came back."""


class Observation(Record, frozen=True):
    """One executed call.

    A row that keeps it can be counted again after a restart, so that the detector is a fold of the log.
    """

    identity: Identity
    outcome: Outcome
