"""Sends notices through the `apprise` library, which reaches mail, chats and pagers, one URL for each."""

import asyncio
import importlib
from typing import TYPE_CHECKING

from stoic.credentials import Secret
from stoic.records import Notice

if TYPE_CHECKING:
    from apprise import Apprise


class AppriseChannel:
    """Implements `Channel` for one URL of the library, which is loaded with the first notice."""

    def __init__(self, name: str, url: Secret) -> None:
        """Prepare; the library must be installed.

        Args:
            name: names the channel to a person
            url: such as `tgram://TOKEN/CHAT`, with the credentials in it
        """
        self.name = name
        self._url = url

    def takes(self, notice: Notice) -> bool:  # noqa: ARG002 - the port's
        """Take all."""
        return True

    async def deliver(self, notice: Notice) -> str | None:
        """Send once; None: the service took it."""
        # Loading the library and its services takes seconds of CPU: not in the loop, and not before it is needed.
        target = await asyncio.to_thread(_target, self._url)
        if target is None:
            return "apprise knows no service for this url, or it lacks a part; see the library's documentation"
        result = await target.async_notify(
            title=_title(notice),
            body="\n".join([notice.text, "", *notice.actions]),
            notify_type="failure" if notice.priority == "critical" else "info",
            body_format="text",
        )
        return None if result else f"the service did not take it ({result.status.name.lower()})"

    async def close(self) -> None:
        """Do nothing: the library keeps nothing open."""


def _target(url: Secret) -> "Apprise | None":
    """Load the library and return what sends to the URL; None: the library knows no such service."""
    library = importlib.import_module("apprise")
    target = library.Apprise(asset=library.AppriseAsset(app_id="stoic"))
    return target if target.add(url.reveal()) else None


def _title(notice: Notice) -> str:
    of = f" of thread {notice.thread}" if notice.thread else ""
    return f"stoic: {notice.priority} notice{of}"
