"""How the documentation site is built: plain Markdown pages, docstrings for the Python API, nothing from another host."""

import re
from typing import Any

from sphinx.application import Sphinx

project = "stoic"
author = "The stoic authors"
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
smartquotes = False  # `--json` in a sentence is no dash
suppress_warnings = ["misc.highlighting_failure"]  # a block may end in `…`; what runs is held by tests/docs

default_role = "code"  # a word in single backticks of a docstring is code, as in Markdown
add_module_names = False
autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"

html_theme = "furo"
html_title = "stoic"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["stoic.css"]

_said: dict[str, list[str]] = {}


def setup(app: Sphinx) -> None:
    """Keep the docstrings of attributes as they are, and name the union of all events by its name."""
    app.connect("autodoc-process-docstring", _leave_out_references, priority=300)
    app.connect("autodoc-process-docstring", _keep_attribute, priority=400)
    app.connect("autodoc-process-docstring", _give_back_attribute, priority=600)
    app.connect("autodoc-process-signature", _name_events, priority=600)


def _leave_out_references(_app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Leave out where the specification says so: who reads the site does not have it."""
    lines[:] = [re.sub(r" \(SPEC §[^)]*\)", "", line) for line in lines]


def _keep_attribute(_app: Sphinx, what: str, name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    if what in {"attribute", "property"}:
        _said[name] = list(lines)


def _give_back_attribute(_app: Sphinx, _what: str, name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Undo what napoleon makes of an attribute's text: it takes what stands before a colon for its type."""
    lines[:] = _said.pop(name, lines)


def _name_events(app: Sphinx, *_: Any) -> None:
    for types in app.env.current_document.autodoc_annotations.values():
        for parameter, written in types.items():
            begin, end = written.find("~stoic.events.LeaseAwaited"), written.rfind("~stoic.events.OutcomeReached")
            if begin >= 0:
                rest = written[end + len("~stoic.events.OutcomeReached") :]
                types[parameter] = f"{written[:begin]}~stoic.events.Happening{rest}"
