"""Where an obvious way to see loops goes wrong: words that only look like noise, paging or denial, and the reverse."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.core.loops.variants.building import (
    BLOCK,
    BREAKER,
    HINT,
    LOOP,
    POLL,
    QUIET,
    Trace,
    digits,
    entry,
    event,
    failed,
    repeated,
    rounds,
    said,
    trace,
    uuid,
)

Make = Callable[[int], dict[str, Any]]

# Not a word: polls that move where a careless mask sees noise.
MOVING: dict[str, Make] = {
    "remaining-time": lambda n: entry("job_status", {"id": 1}, f"running, remaining time: {600 - n * 10}s"),
    "estimated-time": lambda n: entry("job_status", {"id": 1}, f"estimated time: {60 - n} minutes"),
    "remaining-duration": lambda n: entry("job_status", {"id": 1}, {"remaining_duration_ms": 9000 - n * 100}),
    "estimated-duration": lambda n: entry("job_status", {"id": 1}, f"estimated duration: {60 - n}m"),
    "time-left": lambda n: entry("download_status", {"id": 1}, f"time left {60 - n}m"),
    "took-jobs": lambda n: entry("queue_status", {"id": 1}, f"worker took {n} jobs"),
    "position-ms": lambda n: entry("player_status", {}, {"position_ms": n * 1000}),
    "out-time-ms": lambda n: entry("encode_status", {}, f"frame={n}\nout_time_ms={n * 40000}"),
    "pending-requests": lambda n: entry("get_pending_requests", {"state": "open"}, [{"request_id": f"r{n}"}]),
    "next-trace": lambda n: entry("poll_traces", {}, {"trace_id": digits(n, 32), "status": "ok"}),
    "sleep-in-name": lambda n: entry("get_sleep_status", {"user": 1}, f"{n} naps"),
}

# At most a hint.
SPARED: dict[str, Make] = {
    "request-from-queue": lambda n: entry(
        "get_next_request", {"queue": "q"}, {"request_id": uuid(n), "text": "refund"}
    ),
    "incident-from-queue": lambda n: entry("claim_incident", {}, f"incident id: INC{n}"),
    "mail-by-server": lambda n: entry("gmail_get_next_message", {"box": "b"}, {"id": f"m{n}", "subject": "hi"}),
    "message-received": lambda n: entry("discord_receive_message", {"room": 1}, {"id": 500 + n, "text": "ok"}),
    "routes-between": lambda n: entry("find_route", {"from": n // 9, "to": n % 9 + 10}, "no route"),
    "hours": lambda n: entry("get_availability", {"room": "A", "start": n, "end": n + 1}, "busy"),
    "faq-intents": lambda n: entry("search_faq", {"intent": f"i{n}", "lang": "en"}, []),
    "mined-nonces": lambda n: entry("verify_block", {"block": "b", "nonce": n}, "invalid hash"),
    "expenses": lambda n: entry("submit_expense", {"amount": 5, "justification": f"trip {n}"}, "submitted"),
    "agents-run": lambda n: entry("run_agent", {"name": "worker", "description": f"do part {n}"}, "finished"),
    "thinking-aloud": lambda n: entry("sequential_thinking", {"thought": f"t{n}", "mode": "deep"}, "noted"),
    "reflections": lambda n: entry("reflect", {"reasoning": f"r{n}", "about": "plan"}, "ok"),
    "line-401": lambda n: failed("compile", {"unit": f"u{n}"}, "syntax error at line 401"),
    "line-403": lambda n: failed("run_script", {"argument": n}, "line 403: unexpected token"),
    "null-not-allowed": lambda n: failed("add_record", {"fields": {"a": n}}, "null values not allowed"),
    "extra-inputs": lambda n: failed("create_thing", {"shape": {"k": n}}, "Extra inputs are not permitted"),
    "denied-at-other-hosts": lambda n: failed("WebFetch", {"url": f"https://h{n}.example/a"}, "403 Forbidden"),
    "hex-counter": lambda n: entry("bus_read", {"address": 4}, f"0x{n:08x}"),
    "user-hours": lambda n: entry("timesheet", {"week": 3}, f"user {n} h booked"),
    "rows-of-log": lambda n: entry(
        "bash", {"command": "tail -n 1 app.log"}, f"2026-05-01 10:{n:02d}:00 request {n} served"
    ),
    "frame-files": lambda n: entry("bash", {"command": "ls -t out | head -1"}, f"/tmp/out/frame_{n:06d}.png"),
}

# The same thing again and again, in a dress that a strict comparison takes for news.
DRESSED: dict[str, Make] = {
    "json-after-words": lambda n: entry(
        "exec", {"command": "x"}, f'Exit code: 0\n{{"out": "a", "durationMs": {n + 9}, "startedAt": {1770000000 + n}}}'
    ),
    "blocks": lambda n: entry(
        "mcp__x__run", {"a": 1}, [{"type": "text", "text": f"done (pid {4000 + n}, took {n + 1} ms)"}]
    ),
    "json-in-blocks": lambda n: entry(
        "mcp__x__run", {"a": 1}, [{"type": "text", "text": f'{{"elapsed": {n}, "rows": []}}'}]
    ),
    "timed-out-after": lambda n: failed("fetch", {"url": "http://h/a"}, f"timed out after {30000 + n} ms"),
    "stamped-run": lambda n: entry("bash", {"command": "./sync.sh"}, f"[2026-05-01 10:{n:02d}:07] nothing to do"),
    "stamped-test": lambda n: failed(
        "bash", {"command": "pytest -q"}, f"2026-05-01 10:{n:02d}:07,113 ERROR boom\n1 failed in {n}.31s"
    ),
    "apache-stamp": lambda n: failed("deploy", {"to": "a"}, f"[04/May/2026:10:{n:02d}:01 +0000] upstream down"),
    "colours": lambda n: failed("bash", {"command": "make"}, f"\x1b[{31 + n % 6}merror\x1b[0m: boom"),
    "windows-lines": lambda n: failed("bash", {"command": "make"}, "a: error\r\nb" if n % 2 else "a: error\nb"),
    "trailing-blanks": lambda n: entry("bash", {"command": "cat a"}, "text" + "\n" * (n % 3)),
    "key-order-of-result": lambda n: entry("get_user", {"id": 1}, {"a": 1, "b": 2} if n % 2 else {"b": 2, "a": 1}),
    "whole-float-result": lambda n: entry("get_user", {"id": 1}, {"age": 3 if n % 2 else 3.0}),
    "null-of-result": lambda n: entry("get_user", {"id": 1}, {"age": 3} if n % 2 else {"age": 3, "note": None}),
    "text-or-json": lambda n: entry("get_user", {"id": 1}, {"age": 3} if n % 2 else '{"age": 3}'),
    "error-uuid": lambda n: failed("invoke", {"fn": "f"}, f"Something went wrong ({uuid(n)})"),
    "tag-nonce": lambda n: entry("web_open", {"url": "http://h/1"}, f"<page-{digits(n)}a1>same</page-{digits(n)}a1>"),
    "tool-use-id": lambda n: entry("lookup", {"id": 3}, {"tool_use_id": f"toolu_{digits(n, 22)}", "content": "none"}),
    "open-ticket": lambda n: entry("open_ticket", {"title": "disk full"}, {"number": 70 + n}),
    "trigger": lambda n: entry("trigger_build", {"branch": "main"}, {"build_id": 900 + n}),
    "reserve": lambda n: entry("reserveTable", {"name": "x", "time": "20:00"}, {"reservationId": uuid(n)}),
}


def traces() -> Iterator[Trace]:
    for name, make in MOVING.items():
        yield trace(f"moving-{name}", repeated(make, 45), QUIET)
    for name, make in SPARED.items():
        yield trace(f"spared-{name}", repeated(make, 45), HINT)
    for name, make in DRESSED.items():
        yield trace(f"dressed-{name}", repeated(make, 33), BLOCK, within=(30, 32), rule=BREAKER)

    turn = lambda n: entry("browser_click", {"ref": "next"}, "ok")  # one row of a table
    look = lambda n: entry("browser_get_text", {}, f"page {n}")  # one row of a table
    yield trace("turning-pages-and-reading", rounds(45, turn, look), HINT)
    scroll = lambda n: entry("scroll_page", {"direction": "down"}, "scrolled")  # one row of a table
    yield trace("scrolling-and-reading", rounds(45, scroll, look), HINT)
    stuck = lambda n: entry("browser_get_text", {}, "page 1")  # one row of a table
    yield trace("turning-pages-that-stay", rounds(33, turn, stuck), BLOCK, within=(30, 36))

    lint = [entry("lint", {"path": f"f{n}"}, "clean") for n in range(36)]
    fixed = [*lint, entry("edit_file", {"path": "conf", "old": "a", "new": "b"}), *lint]
    yield trace("every-file-checked-again-after-an-edit", fixed, HINT)
    opened = []
    for n in range(30):
        url = f"https://h.example/{n}"
        opened += [
            failed("fetch", {"url": url}, "403 Forbidden"),
            entry("fetch", {"url": url + "/public"}, f"text {n}"),
        ]
    yield trace("denied-now-and-then", opened, HINT)
    login = [failed("api_get", {"path": f"/{n}"}, "401 Unauthorized") for n in range(15)]
    again = [entry("api_get", {"path": f"/{n}"}, f"v{n}") for n in range(15)]
    yield trace("denied-until-logged-in", [*login, entry("login", {"user": "u"}), *again], HINT)
    review = [one for n in range(40) for one in (said(f"File {n} of 40."), entry("Read", {"file_path": f"f{n}"}, "ok"))]
    yield trace("reviewing-forty-equal-files", review, HINT)
    asked = [one for _ in range(30) for one in (entry("get_job", {"id": 1}, "running"), event("user", text="and now?"))]
    yield trace("person-asks-again", asked, QUIET)
    wake = [one for _ in range(40) for one in (entry("wait", {"minutes": 5}), entry("check_inbox", {}, "empty"))]
    yield trace("inbox-watched-with-waits", wake, LOOP)
    sub = repeated(lambda n: entry("task_wait", {"ids": ["a"], "timeout_seconds": 60}, "still running"), 40)
    yield trace("waiting-for-a-task", sub, QUIET)
    frozen = repeated(lambda n: entry("get_terminal_output", {"id": "t"}, f"$ make\nrunning ({n + 1}s)"), 23)
    yield trace("frozen-terminal", frozen, BLOCK, within=(20, 22), rule=POLL)
    ago = repeated(lambda n: entry("deploy_status", {"id": 1}, f"pending, queued {n + 1} minutes ago"), 23)
    yield trace("frozen-ago", ago, BLOCK, within=(20, 22), rule=POLL)
    clock = repeated(lambda n: entry("get_current_timestamp", {"timezone": "UTC"}, str(1770000000 + n * 61)), 33)
    yield trace("clock-epoch", clock, LOOP)
    clock = repeated(
        lambda n: entry(
            "mcp__time__get_current_time",
            {"timezone": "UTC"},
            {"datetime": f"2026-05-01T10:{n:02d}:00Z", "is_dst": False},
        ),
        33,
    )
    yield trace("clock-mcp", clock, LOOP)
    clock = repeated(lambda n: entry("bash", {"command": "date"}, f"Fri May  1 10:{n:02d}:07 UTC 2026"), 33)
    yield trace("clock-shell", clock, LOOP)
    clock = repeated(lambda n: entry("get_time", {}, f"It is 10:{n:02d} now"), 33)
    yield trace("clock-minutes", clock, LOOP)
