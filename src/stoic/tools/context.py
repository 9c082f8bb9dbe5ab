"""What a tool of the runtime itself may look at: the thread it runs for, the log, and spilled output."""

from stoic.ports import Store
from stoic.records import Record
from stoic.tools.spilling import Spill


class ToolContext(Record, frozen=True):
    """Annotate a tool's parameter with it and the runtime puts it there; models do not see the parameter."""

    thread: str
    store: Store
    spill: Spill
