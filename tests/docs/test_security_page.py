"""The page on security names tests that exist, every one of its own folder, and numbers that are so."""

import re
from pathlib import Path

from tests.docs.pages import DOCS, ROOT

from stoic.cli.guidance import LIMIT_BYTES as GUIDANCE_BYTES
from stoic.cli.pictures import LIMIT_BYTES as IMAGE_BYTES
from stoic.foreign_json import LEVELS
from stoic.runtime.threads import LONGEST_TEXT
from stoic.tools import http_get, memories, shell, spilling, walking
from stoic.wire.transport import HttpSettings

PAGE = (DOCS / "explanation" / "security.md").read_text(encoding="utf-8")


def named() -> list[tuple[str, str]]:
    """Return the tests that the page names, each with its file, which stands before the first of a row."""
    found: list[tuple[str, str]] = []
    path = ""
    for file, name in re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", PAGE):
        path = file or path
        found.append((path, name))
    return found


def names_in(file: Path) -> set[str]:
    return set(re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_test_that_the_page_names_exists():
    assert len(named()) > 80
    missing = [f"{path}::{name}" for path, name in named() if name not in names_in(ROOT / path)]
    assert missing == []


def test_the_page_names_every_test_of_the_folder_and_each_once():
    own = {
        (f"tests/security/{file.name}", name)
        for file in (ROOT / "tests" / "security").glob("test_*.py")
        for name in names_in(file)
    }
    assert own - {*named()} == set()
    assert len(named()) == len({*named()})


def test_every_section_says_what_is_not_claimed_and_what_shows_it():
    sections = PAGE.split("\n## ")[2:]
    assert len(sections) >= 9
    for section in sections:
        assert "*What stoic does:*" in section
        assert "*Not claimed:*" in section
        assert "*Shown by:* `tests/" in section


def test_the_numbers_are_the_constants():
    limits = HttpSettings()
    kibi = 1024
    assert (
        f"{limits.answer_limit_bytes // kibi**2} MiB of an answer, {limits.event_limit_bytes // kibi**2} MiB of one event"
        in PAGE
    )
    assert f"of an error page {limits.error_body_limit_bytes // kibi**2} MiB is kept" in PAGE
    assert (
        f"follows {http_get.LIMIT_REDIRECTS} redirects, reads {http_get.LIMIT_BYTES:,} bytes, and ends after 30 seconds"
        in PAGE
    )
    assert http_get.TIMEOUT_SECONDS == 30
    assert f"a whole walk {walking.LONGEST_SECONDS:g} seconds" in PAGE
    for row in (
        f"| a message, an event, a brief; stdin | {LONGEST_TEXT:,} characters |",
        f"| `AGENTS.md` | {GUIDANCE_BYTES // kibi} KiB",
        f"| a result | {spilling.SHOWN_CHARACTERS // kibi} KiB are shown",
        f"| the output of a command | {shell.LIMIT_BYTES // kibi**2} MiB",
        f"| a memory | {memories.LIMIT_CHARACTERS} characters |",
        f"| an image from the command line | {IMAGE_BYTES:,} bytes |",
        f"| JSON of a provider, a model or a file | {LEVELS} levels |",
    ):
        assert row in PAGE
