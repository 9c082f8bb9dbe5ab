"""The page on models says what the tables say."""

import re
from pathlib import Path

import pytest

from stoic.models.providers import PROVIDERS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "models.md").read_text(encoding="utf-8")
ROWS = {match[1]: match[0] for match in re.finditer(r"^\| `([a-z-]+):` \|.*$", PAGE, re.MULTILINE)}


def test_page_lists_exactly_the_providers_of_the_table_in_its_order():
    assert list(ROWS) == list(PROVIDERS)


@pytest.mark.parametrize("name", PROVIDERS)
def test_row_says_base_url_variables_default_and_source(name):
    entry, row = PROVIDERS[name], ROWS[name]
    variables = entry.key_variables + entry.bearer_variables + entry.url_variables
    wanted = [*variables, *filter(None, (entry.base_url, entry.default_model))]
    assert [each for each in wanted if f"`{each}`" not in row] == []
    assert f"({entry.source})" in row
