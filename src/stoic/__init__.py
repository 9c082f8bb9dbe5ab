"""stoic: a durable runtime for multi-model LLM agents that is honest about failure.

Importing this package does nothing and loads nothing; each public name loads what it needs when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stoic.core.budget import Bounds
    from stoic.core.classify import Verdict, classify, report_from
    from stoic.core.failures import Axis, FailureClass
    from stoic.core.loops import Call, LoopDetector, Thresholds
    from stoic.errors import ConfigurationError, StoicError, StoreError, UsageError
    from stoic.events import Event
    from stoic.records import ImagePart, Outcome, Parked, Spent, Usage
    from stoic.running import run, run_sync
    from stoic.runtime.agents import Agent, Mode
    from stoic.runtime.renderers import renderer
    from stoic.tools.context import OperationId, OperationName
    from stoic.tools.declaration import Tool, tool
    from stoic.tools.memories import memory_tools
    from stoic.tools.task_tools import task_tools
    from stoic.wire.own import ModelError, ModelReply, ModelRequest
    from stoic.wiring import Runtime

_HOMES = {
    "Agent": "stoic.runtime.agents",
    "Axis": "stoic.core.failures",
    "Bounds": "stoic.core.budget",
    "Call": "stoic.core.loops",
    "ConfigurationError": "stoic.errors",
    "Event": "stoic.events",
    "FailureClass": "stoic.core.failures",
    "ImagePart": "stoic.records",
    "LoopDetector": "stoic.core.loops",
    "Mode": "stoic.runtime.agents",
    "ModelError": "stoic.wire.own",
    "ModelReply": "stoic.wire.own",
    "ModelRequest": "stoic.wire.own",
    "OperationId": "stoic.tools.context",
    "OperationName": "stoic.tools.context",
    "Outcome": "stoic.records",
    "Parked": "stoic.records",
    "Runtime": "stoic.wiring",
    "Spent": "stoic.records",
    "StoicError": "stoic.errors",
    "StoreError": "stoic.errors",
    "Thresholds": "stoic.core.loops",
    "Tool": "stoic.tools.declaration",
    "Usage": "stoic.records",
    "UsageError": "stoic.errors",
    "Verdict": "stoic.core.classify",
    "classify": "stoic.core.classify",
    "memory_tools": "stoic.tools.memories",
    "renderer": "stoic.runtime.renderers",
    "report_from": "stoic.core.classify",
    "run": "stoic.running",
    "run_sync": "stoic.running",
    "task_tools": "stoic.tools.task_tools",
    "tool": "stoic.tools.declaration",
}

__all__ = [
    "Agent",
    "Axis",
    "Bounds",
    "Call",
    "ConfigurationError",
    "Event",
    "FailureClass",
    "ImagePart",
    "LoopDetector",
    "Mode",
    "ModelError",
    "ModelReply",
    "ModelRequest",
    "OperationId",
    "OperationName",
    "Outcome",
    "Parked",
    "Runtime",
    "Spent",
    "StoicError",
    "StoreError",
    "Thresholds",
    "Tool",
    "Usage",
    "UsageError",
    "Verdict",
    "classify",
    "memory_tools",
    "renderer",
    "report_from",
    "run",
    "run_sync",
    "task_tools",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'stoic' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
