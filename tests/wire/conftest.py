"""One way for all wire tests to ask the scripted provider something over real HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from stoic.ports import Request
from stoic.records import UserMessage
from stoic.testing import FakeClock
from stoic.wire import chat
from stoic.wire.chat_decoding import ChatDecoder
from stoic.wire.rendering import join
from stoic.wire.transport import HttpProvider, HttpSettings

CLOCK = FakeClock()


@pytest.fixture
def make_request() -> Callable[..., Request]:
    """Return a function that builds a request for a base URL."""

    def build(base_url: str, text: str = "hi", *, provider: str = "scripted", deadline_seconds: float = 30) -> Request:
        body = join(chat.head("test-model", "", [], {}), [chat.fragment(UserMessage(text=text))], chat.TAIL)
        return Request(
            url=chat.endpoint(base_url),
            headers=chat.auth_headers("sk-secret"),
            body=body,
            provider=provider,
            api=chat.API,
            model="test-model",
            deadline_ms=CLOCK.now_ms() + round(deadline_seconds * 1000),
        )

    return build


@pytest.fixture
def make_provider() -> Callable[..., HttpProvider]:
    """Return a function that builds the wire under test with the settings given."""

    def build(**settings: Any) -> HttpProvider:
        return HttpProvider(CLOCK, {chat.API: ChatDecoder}, HttpSettings(**settings))

    return build
