"""Sees loops: counts news for calls, errors and texts, and says when to warn, block or stop (SPEC §11)."""

from stoic.core.loops.call import Call, Effect, Event, Rule, Thresholds, Verdict
from stoic.core.loops.detector import LoopDetector, observe
from stoic.core.loops.observation import Observation
from stoic.core.loops.state import LoopState

__all__ = [
    "Call",
    "Effect",
    "Event",
    "LoopDetector",
    "LoopState",
    "Observation",
    "Rule",
    "Thresholds",
    "Verdict",
    "observe",
]
