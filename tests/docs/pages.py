"""A page of the documentation as what can be run of it: its code blocks, each with what a comment above it says.

Comments that mean something, each on lines of its own before the block or blocks it is about:

- `<!-- provider JSON -->`: what the simulated provider says from here on, in the language of `stoic scripted`
- `<!-- setup COMMANDS -->`: shell commands that a reader has behind him already
- `<!-- file: NAME -->`: the next block is saved under that name, and not run
- `<!-- in place of: FILE: LINE -->`: the next block is put where that line stands in the file, and not run
- `<!-- background -->`: the next block's command runs on until the page ends
- `<!-- stop -->`: the next block's command is ended by SIGTERM once it has said something
- `<!-- exit: N -->`: the exit code of the next block's last command; otherwise 0
- `<!-- continues -->`: the next Python block goes on from the Python blocks above it
- `<!-- not run: REASON -->`: the next block is not run

A block of `text` is what the block before it printed; `…` in it stands for anything within its line, alone on a line for any lines.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")), ROOT / "bench" / "README.md"]

_COMMENT_OR_BLOCK = re.compile(
    r"^<!-- (?P<said>.*?) ?-->$|^```(?P<language>\S*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_WORDS = ("provider", "setup", "file", "in place of", "background", "stop", "exit", "continues", "not run")


@dataclass(frozen=True)
class Block:
    """One code block, and what the comments above it say: `marks` by their first word."""

    page: Path
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """Return a page's code blocks in order."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    marks: dict[str, str] = {}
    for match in _COMMENT_OR_BLOCK.finditer(text):
        if match["said"] is not None:
            word, said = _mark(match["said"])
            if word is not None:
                marks[word] = said
            continue
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page=page, line=line, language=match["language"], text=match["text"], marks=marks))
        marks = {}
    return found


def _mark(said: str) -> tuple[str | None, str]:
    """Return the word that a comment begins with and what follows; None: it says nothing to the tests."""
    word = next((word for word in _WORDS if re.match(rf"{word}\b", said)), None)
    return word, said.removeprefix(word or "").lstrip(": ").strip()
