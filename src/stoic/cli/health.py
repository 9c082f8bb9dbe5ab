"""`stoic health`: which routes are closed, why and until when; `retry` lets the next request through."""

import asyncio
import os
from typing import IO

from stoic.cli import exits
from stoic.cli.cleaning import json_text, one_line, quoted
from stoic.cli.event import wake
from stoic.cli.names import near
from stoic.cli.opening import log_to_list, opened_log, require_log
from stoic.cli.screen import Style
from stoic.core.health import retry_now
from stoic.errors import UsageError
from stoic.models.addresses import shown_url
from stoic.ports import parts_of
from stoic.records import Health, Record
from stoic.wiring import SystemClock

_STYLES = {"closed": "green", "open": "red", "half_open": "yellow"}
_SAID = {"closed": "healthy", "open": "shut", "half_open": "on trial"}


class RouteState(Record, frozen=True, omit_defaults=False):
    """One route in the list."""

    model: str
    """`PROVIDER:NAME`."""
    url: str
    credential: str | None
    """The fingerprint of its key; None: it has none."""
    state: str
    """`closed`: requests go there; `open`: none does; `half_open`: the next one is a trial."""
    failure_class: str | None
    waits_for: str | None
    until_ms: int | None
    """Epoch milliseconds at which the clock alone opens it again."""
    bad_in_a_row: int


def health(*, as_json: bool, stdout: IO[str]) -> int:
    """Print what is known of every route, by route; as JSON, one object a line."""
    if not log_to_list():
        return exits.COMPLETED
    routes = [_state(each) for each in asyncio.run(_read())]
    if as_json:
        for route in routes:
            stdout.write(json_text(route) + "\n")
        return exits.COMPLETED
    style, now_ms = Style(stdout, os.environ), SystemClock().now_ms()
    for route in routes:
        said = style(_said(route, now_ms), _STYLES[route.state])
        stdout.write(f"{one_line(route.model)}  {said}  {style(shown_url(route.url), 'dim')}\n")
    if not routes:
        stdout.write("no route has failed yet\n")
    return exits.COMPLETED


def retry(model: str, *, stdout: IO[str]) -> int:
    """Let the next request to a model through, whatever its breakers say.

    Raises:
        UsageError: nothing is known of such a model
    """
    reopened = asyncio.run(_retry(model))
    if reopened:
        stdout.write(f"{one_line(model)}: the next request is a trial\n")
    else:
        stdout.write(f"{one_line(model)} was not shut; nothing is changed\n")
    return exits.COMPLETED


async def _read() -> list[Health]:
    async with opened_log() as store:
        return await store.health()


async def _retry(model: str) -> int:
    """Return how many routes of the model were opened."""
    require_log(f"nothing is known of the health of {model!r}")
    async with opened_log() as store:
        known = await store.health()
        routes = [each for each in known if _state(each).model == model]
        if not routes:
            raise _unknown(model, sorted({_state(each).model for each in known}))
        shut = [each for each in routes if each.state != "closed"]
        for each in shut:
            await store.put_health(retry_now(each))
        for event in {f"{each.waits_for} {model.partition(':')[0]}" for each in shut}:
            await wake(store, event)
        return len(shut)


def _unknown(model: str, known: list[str]) -> UsageError:
    close = near(model, known)
    hint = f"did you mean {' or '.join(close)}?" if close else "`stoic health` lists the models there are"
    return UsageError(f"nothing is known of the health of {model!r}; {hint}")


def _state(each: Health) -> RouteState:
    model, url, credential = parts_of(each.route)
    return RouteState(
        model=model,
        url=url,
        credential=credential or None,
        state=each.state,
        failure_class=each.failure_class,
        waits_for=each.waits_for,
        until_ms=each.until_ms,
        bad_in_a_row=each.bad_in_a_row,
    )


def _said(route: RouteState, now_ms: int) -> str:
    text = _SAID[route.state]
    if route.failure_class:
        text += f" after {route.failure_class}"
    if route.state == "open":
        text += f", {_until(route, now_ms)}"
    elif route.bad_in_a_row:
        text += f" ({route.bad_in_a_row} in a row)"
    return text


def _until(route: RouteState, now_ms: int) -> str:
    remedy = f"`stoic health retry {quoted(route.model)}` tries at once"
    if route.until_ms is None:
        return f"waits for a change of its {route.waits_for or 'cause'}; {remedy}"
    seconds = max(0, -(-(route.until_ms - now_ms) // 1000))
    return f"the next request is a trial; {remedy}" if seconds == 0 else f"for {seconds} s more; {remedy}"
