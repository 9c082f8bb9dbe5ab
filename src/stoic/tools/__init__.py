"""Tools: typed functions as declarations with an effect, and the built-in ones."""

from stoic.tools.declaration import Effect, OperationId, Tool, tool

__all__ = ["Effect", "OperationId", "Tool", "tool"]
