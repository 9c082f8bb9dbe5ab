"""Every code block of every page runs as a reader would run it, and prints what the page says it prints."""

from pathlib import Path

import pytest
from tests.docs.forking import Forks
from tests.docs.pages import PAGES, ROOT, Block, blocks_of
from tests.docs.playing import CODE, DIRECTIVES, Player

MOST_NOT_RUN = 12
RUN = [page for page in PAGES if blocks_of(page)]
BLOCKS: list[Block] = [block for page in RUN for block in blocks_of(page)]


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    with Forks(tmp_path_factory.mktemp("forks")) as running:
        yield running


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_in_their_order(page: Path, tmp_path: Path, forks: Forks):
    with Player(tmp_path, forks) as player:
        for block in blocks_of(page):
            player.play(block)


def test_every_block_says_its_language():
    assert [str(block) for block in BLOCKS if block.language not in CODE | DIRECTIVES | {"text"}] == []


def test_few_blocks_are_not_run_and_each_says_why():
    left = [block for block in BLOCKS if "not run" in block.marks]
    assert [str(block) for block in left if len(block.marks["not run"]) < 10] == []
    assert len(left) <= MOST_NOT_RUN, "\n".join(str(block) for block in left)
