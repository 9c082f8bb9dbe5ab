"""Sees loops: counts news for calls, errors and texts, and says when to warn, block or stop (SPEC §11)."""

from stoic.core.loops.call import Call, Effect, Event, Rule, Thresholds, Verdict
from stoic.core.loops.detector import LoopDetector, identify, observe
from stoic.core.loops.observation import Identity, Observation
from stoic.core.loops.state import LoopState

__all__ = [
    "Call",
    "Effect",
    "Event",
    "Identity",
    "LoopDetector",
    "LoopState",
    "Observation",
    "Rule",
    "Thresholds",
    "Verdict",
    "identify",
    "observe",
]
