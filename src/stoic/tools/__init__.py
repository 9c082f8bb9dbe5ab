"""Tools: typed functions as declarations with an effect, and the built-in ones."""

from stoic.tools.context import OperationId, OperationName
from stoic.tools.declaration import Effect, Tool, tool

__all__ = ["Effect", "OperationId", "OperationName", "Tool", "tool"]
