"""Posts notices to a web server, signed, so that it can tell that they are from here and were not changed."""

import hashlib
import hmac
from urllib.parse import urlsplit

import msgspec

from stoic.credentials import Secret
from stoic.ports import Clock, Provider, Request
from stoic.records import Notice, Record, Report

API = "webhook"
"""What the requests are of, for the client that sends them."""
SIGNATURE_HEADER = "x-stoic-signature"
TIMEOUT_MS = 10_000
"""Longest duration of one delivery."""

_SUCCESSES = range(200, 300)
_REDIRECTS = range(300, 400)
_LONGEST_ERROR = 200


class PostedNotice(Record, frozen=True, omit_defaults=False):
    """The body of a request."""

    key: str
    """Equal keys are one notice: a receiver that has it already may ignore it."""
    id: str
    kind: str
    priority: str
    thread: str
    """Empty: it is of no single thread."""
    text: str
    actions: list[str]
    created_at: int
    """Epoch milliseconds."""
    sent_at: int
    """Epoch milliseconds; signed like everything else, so that an old request can be told from a new one."""


class WebhookChannel:
    """Implements `Channel`; follows no redirect."""

    def __init__(self, name: str, url: Secret, secret: Secret, client: Provider, clock: Clock) -> None:
        """Prepare; nothing is opened yet.

        Args:
            name: names the channel to a person
            url: where to post
            secret: signs the body; the receiver knows it too
            client: an HTTP client that knows the API `webhook`
            clock: stamps and bounds the requests
        """
        self.name = name
        self._url = url
        self._secret = secret
        self._client = client
        self._clock = clock

    def takes(self, notice: Notice) -> bool:  # noqa: ARG002 - the port's
        """Take all."""
        return True

    async def deliver(self, notice: Notice) -> str | None:
        """Post once; None: a status from 200 to 299 came, else what came instead."""
        now_ms = self._clock.now_ms()
        body = msgspec.json.encode(_posted(notice, now_ms))
        request = Request(
            url=self._url.reveal(),
            headers={
                "content-type": "application/json",
                "accept": "*/*",
                SIGNATURE_HEADER: signature(self._secret, body),
            },
            body=body,
            provider=self.name,
            api=API,
            model="",
            deadline_ms=now_ms + TIMEOUT_MS,
            secrets=_secret_parts(self._url),
        )
        return _error(await self._client.send(request, _ignore))

    async def close(self) -> None:
        """Close idle connections."""
        await self._client.close()


def signature(secret: Secret, body: bytes) -> str:
    """Return `sha256=` and the HMAC of the body, in hexadecimal digits."""
    key = secret.reveal().encode(errors="surrogateescape")
    return f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}"


def _secret_parts(url: Secret) -> tuple[str, ...]:
    """Return what of the URL may be a credential: all behind the host. A server that is none may send it back."""
    parts = urlsplit(url.reveal())
    return (parts.path, parts.query, f"{parts.path}?{parts.query}")


def _posted(notice: Notice, now_ms: int) -> PostedNotice:
    return PostedNotice(
        key=notice.key,
        id=notice.id,
        kind=notice.kind,
        priority=notice.priority,
        thread=notice.thread,
        text=notice.text,
        actions=notice.actions,
        created_at=notice.created_at,
        sent_at=now_ms,
    )


def _error(report: Report) -> str | None:
    # A success's body may break off: the head has said that the notice arrived.
    if report.status in _SUCCESSES:
        return None
    if report.status in _REDIRECTS:
        return f"HTTP {report.status}: redirects are not followed; give the address it leads to"
    if report.status is not None:
        return f"HTTP {report.status}"
    fact = report.exception
    said = f"{fact.type.rpartition('.')[2]}: {fact.message}" if fact else "no answer"
    return " ".join(said.split())[:_LONGEST_ERROR]


def _ignore(_kind: str, _text: str) -> None:
    """Nothing in the answer matters but its status."""
