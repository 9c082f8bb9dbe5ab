"""Gathers what the detector works with, so that it is loaded at the first call, not when the detector is imported."""

from stoic.core.loops.counting import count, forget_staleness
from stoic.core.loops.identity import identify
from stoic.core.loops.messages import blocked, stopped, warned
from stoic.core.loops.noises import noise_names
from stoic.core.loops.observation import Observation
from stoic.core.loops.outcomes import outcome
from stoic.core.loops.rules import blocking, warning
from stoic.core.loops.state import PLACES, LoopState, count_up, dump, load, plain, restored
from stoic.core.loops.texts import normalised

__all__ = [
    "PLACES",
    "LoopState",
    "Observation",
    "blocked",
    "blocking",
    "count",
    "count_up",
    "dump",
    "forget_staleness",
    "identify",
    "load",
    "noise_names",
    "normalised",
    "outcome",
    "plain",
    "restored",
    "stopped",
    "warned",
    "warning",
]
