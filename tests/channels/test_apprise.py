"""The `apprise` library for real: its `json://` service posts to a server of ours."""

import asyncio

import pytest
from tests.channels.hooks import Hooks
from tests.channels.test_webhook import NOTICE

from stoic.channels.apprise import AppriseChannel
from stoic.credentials import Secret
from stoic.records import Notice

# One of the library's services still loads a module that Python is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


def deliver(url, notice=NOTICE):
    async def run():
        channel = AppriseChannel("apprise json", Secret(url))
        assert channel.takes(notice)
        said = await channel.deliver(notice)
        await channel.close()
        return said

    return asyncio.run(run())


def test_a_critical_notice_arrives_with_its_actions():
    with Hooks(200) as hooks:
        assert deliver(f"json://{hooks.host}/") is None
    (posted,) = hooks.posted
    assert posted.value["title"] == "stoic: critical notice of thread t"
    assert posted.value["message"] == "Refused by openai:m.\n\nstoic fresh t"
    assert posted.value["type"] == "failure"


def test_a_notice_of_no_thread_is_plain_information():
    notice = Notice(key="digest:2026-11-30", thread="", kind="digest", text="3 notices in this one", created_at=5)
    with Hooks(200) as hooks:
        assert deliver(f"json://{hooks.host}/", notice) is None
    (posted,) = hooks.posted
    assert (posted.value["title"], posted.value["type"]) == ("stoic: normal notice", "info")


def test_a_service_that_does_not_take_it_is_told():
    with Hooks(500) as hooks:
        assert deliver(f"json://{hooks.host}/") == "the service did not take it (failure)"


def test_a_url_of_no_service_is_told_without_the_url(capfd):
    said = deliver("nothing-like-it://token-123/")
    assert said == "apprise knows no service for this url, or it lacks a part; see the library's documentation"
    assert capfd.readouterr() == ("", "")
