"""What may be registered as a renderer: a sync function of the payload alone, for it is called in the middle of a decision."""

from typing import Any

import pytest

from stoic.errors import UsageError
from stoic.runtime.renderers import EVENT_RENDERERS, renderer


async def later(payload: Any) -> str:
    return "later"


class Later:
    async def __call__(self, payload: Any) -> str:
        return "later"


def nothing() -> str:
    return "nothing"


def two(payload: Any, channel: str) -> str:
    return channel


@pytest.mark.parametrize(
    ("function", "why"), [(later, "it is async"), (Later(), "it is async"), (nothing, "too many"), (two, "missing")]
)
def test_a_function_that_could_not_be_called_is_no_renderer(function: Any, why: str):
    said = rf"the renderer of events of kind 'parcel' must be a sync function of one argument, the payload; .* \({why}"
    with pytest.raises(UsageError, match=said):
        renderer("parcel")(function)
    assert "parcel" not in EVENT_RENDERERS
