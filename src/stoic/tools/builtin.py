"""The built-in tools together."""

from stoic.tools.declaration import Tool
from stoic.tools.editing import edit_tool
from stoic.tools.files import file_tools
from stoic.tools.listing import list_tool
from stoic.tools.operation_status import operation_status_tool
from stoic.tools.read_output import read_output_tool
from stoic.tools.searching import search_tool
from stoic.tools.workspace import Workspace


def workspace_tools(workspace: Workspace) -> list[Tool]:
    """Return `read_file`, `write_file`, `edit_file`, `list_files` and `search_files` of one workspace."""
    return [*file_tools(workspace), edit_tool(workspace), list_tool(workspace), search_tool(workspace)]


def journal_tools() -> list[Tool]:
    """Return `operation_status` and `read_output`, which look at the runtime's own journal and spilled output."""
    return [operation_status_tool(), read_output_tool()]
