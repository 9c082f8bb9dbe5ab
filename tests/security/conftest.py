"""What the tests of this folder share."""

import pytest
from tests.cli.processes import Bench


@pytest.fixture
def bench(tmp_path) -> Bench:
    """Return a fresh folder with a workspace, a log that does not exist yet, and the command to run there."""
    return Bench(tmp_path)
