"""Sees loops: counts news for calls, errors and texts, and says when to warn, block or stop (SPEC §11).

Each name loads what it needs when it is first used, so that importing the detector stays nearly free.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stoic.core.loops.call import Call, Effect, Event, Rule, Thresholds, Verdict
    from stoic.core.loops.detector import LoopDetector, identify, observe
    from stoic.core.loops.observation import Identity, Observation
    from stoic.core.loops.state import LoopState

_HOMES = {
    "Call": "call",
    "Effect": "call",
    "Event": "call",
    "Identity": "observation",
    "LoopDetector": "detector",
    "LoopState": "state",
    "Observation": "observation",
    "Rule": "call",
    "Thresholds": "call",
    "Verdict": "call",
    "identify": "detector",
    "observe": "detector",
}

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


def __getattr__(name: str) -> Any:
    """Load a name from its home on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'stoic.core.loops' has no attribute {name!r}")
    value = getattr(import_module(f"stoic.core.loops.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
