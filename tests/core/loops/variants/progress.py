"""Waiting and draining that gets somewhere: watched as long as it takes."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.core.loops.variants.building import (
    BLOCK,
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
    trace,
)

Result = Callable[[int], object]

CLOCK = "2026-05-01T10:{:02d}:{:02d}"

# Polls by name or action: not a word, whatever moves.
POLLS: dict[str, tuple[str, dict[str, Any], Result]] = {
    "percent": ("get_job_status", {"job": 1}, lambda n: f"running {n * 2}%"),
    "percent-object": ("jobStatus", {"jobId": "a"}, lambda n: {"state": "running", "progress": n / 50}),
    "step-of": ("mcp__ci__build_status", {"build": 3}, lambda n: f"step {n + 1} of 60, elapsed {n * 9}s"),
    "queue-position": ("check_queue_status", {"ticket": "t"}, lambda n: {"status": "queued", "position": 60 - n}),
    "eta": ("poll_export", {"id": 4}, lambda n: f"exporting, ETA {3 - n // 20}m{59 - n % 60}s"),
    "eta-field": ("get_download_status", {"id": 4}, lambda n: {"state": "downloading", "eta_seconds": 600 - n * 10}),
    "eta-text": ("deploy_status", {"id": 4}, lambda n: f"about {60 - n} minutes remaining"),
    "remaining": ("import_status", {"id": 4}, lambda n: {"remaining": 900 - n}),
    "bytes": ("transfer_status", {"id": 4}, lambda n: {"bytes": 1024 * n, "elapsed_ms": 100 * n}),
    "lines-new": ("BashOutput", {"bash_id": "b"}, lambda n: f"<stdout>\ncompiling unit{n}.c\n</stdout>"),
    "lines-growing": (
        "shell_poll",
        {"shell": "s"},
        lambda n: "\n".join(f"{CLOCK.format(k, 0)} tick" for k in range(n + 1)),
    ),
    "process-log": ("process", {"action": "log", "sessionId": "s"}, lambda n: "." * (n + 1)),
    "stdin": ("write_stdin", {"session_id": 1, "chars": ""}, lambda n: f"[{n}/50] linking"),
    "board": ("task_list", {"team": "a"}, lambda n: f"{n} done, {50 - n} open"),
    "phases": ("get_workflow_run_status", {"run": 1}, lambda n: {"jobs": [{"id": k, "ok": k < n} for k in range(50)]}),
    "loss": ("get_training_status", {"run": 1}, lambda n: {"loss": 3.1 - n / 100, "time": CLOCK.format(n, 1)}),
    "replicas": (
        "check_rollout_status",
        {"name": "web"},
        lambda n: f"Waiting: {n} of 50 updated replicas are available",
    ),
    "commits": ("git_poll", {"remote": "origin"}, lambda n: f"HEAD {digits(n, 7)}"),
    "ids-read": ("poll_inbox", {"box": "b"}, lambda n: {"messages": [{"id": f"m{n:04d}"}]}),
    "progress-bar": ("task_status", {"id": 1}, lambda n: "[" + "#" * n + " " * (50 - n) + "]"),
    "spelled-numbers": ("job_status", {"id": 1}, lambda n: f"batch {'abcdefghij'[n // 10]}{'klmnopqrst'[n % 10]} done"),
    "two-states": ("job_status", {"id": 1}, lambda n: ("queued", "running")[n % 2]),
    "german": ("auftrag_status", {"id": 1}, lambda n: f"{n} von 50 fertig"),
    "spanish": ("estado_trabajo", {"action": "status", "id": 1}, lambda n: f"{n} de 50"),
}

# Same call, new answer, but nothing says poll: a hint at most, never a block.
DRAINS: dict[str, tuple[str, dict[str, Any], Result]] = {
    "tail": ("bash", {"command": "tail -n 1 train.log"}, lambda n: f"{CLOCK.format(n, 2)} epoch {n} done"),
    "disk": ("exec", {"command": "du -sh out"}, lambda n: f"{n}M out"),
    "curl": ("bash", {"command": "curl -s http://h/progress"}, lambda n: f'{{"done": {n}, "took_ms": {n * 7}}}'),
    "next-item": ("next_item", {}, lambda n: {"id": f"item_{n:04d}"}),
    "claim-job": ("claim_next_job", {"queue": "q"}, lambda n: {"job_id": f"j-{n}", "kind": "resize"}),
    "lease": ("leaseTask", {"worker": "w"}, lambda n: {"task_id": 500 + n}),
    "dequeue": ("dequeue", {"queue": "q"}, lambda n: {"messageId": f"m{n}", "body": "resize"}),
    "receive": ("sqs_receive_message", {"queue": "q"}, lambda n: {"MessageId": digits(n, 32), "Body": "resize"}),
    "pop": ("redis_pop", {"list": "l"}, lambda n: f"id:{n}"),
    "pull-ticket": ("get_next_ticket", {}, lambda n: {"ticket": {"id": 70 + n, "title": "refund"}}),
    "next-slot": ("book_next_free_slot", {"doctor": "d"}, lambda n: f"booked 2026-05-{n % 28 + 1:02d} 1{n % 9}:00"),
    "register": ("read_register", {"register": 4}, lambda n: f"0x{n * 17:04x}"),
    "dice": ("roll_dice", {"sides": 1000}, lambda n: n * 7919 % 1000),
    "fetch-row": ("cursor_fetch", {"cursor": "c"}, lambda n: {"row": {"id": n, "name": "x"}}),
    "debugger": ("debug_step", {"session": "d"}, lambda n: f"line {n + 10}"),
    "game": ("move", {"direction": "up"}, lambda n: f"you are at (3, {n})"),
    "screenshot": (
        "computer",
        {"action": "screenshot"},
        lambda n: [{"type": "image", "source": {"data": digits(n, 40)}}],
    ),
    "next-page": ("browser_click", {"ref": "next"}, lambda n: f"Page {n + 1} of 60"),
    "scroll": ("browser_scroll", {"direction": "down"}, lambda n: f"paragraph {n}"),
    "delete-oldest": ("delete_oldest", {"count": 10}, lambda n: f"deleted 10, {900 - n * 10} left"),
    "git-head": ("bash", {"command": "git log -1 --format=%h"}, lambda n: digits(n, 7)),
    "repl-counter": ("python", {"code": "next(it)"}, str),
    "retry-count": ("http_get", {"url": "http://h/s"}, lambda n: f"attempt {n} queued"),
}


def traces() -> Iterator[Trace]:
    for name, (tool, args, result) in POLLS.items():
        calls = repeated(lambda n, tool=tool, args=args, result=result: entry(tool, args, result(n)), 50)
        yield trace(f"poll-{name}", calls, QUIET)
    for name, (tool, args, result) in DRAINS.items():
        calls = repeated(lambda n, tool=tool, args=args, result=result: entry(tool, args, result(n)), 45)
        yield trace(f"drain-{name}", calls, HINT)

    few = [entry("build_status", {"id": n // 6}, "passed" if n % 6 == 5 else "running") for n in range(48)]
    yield trace("poll-frozen-few-each", few, QUIET)
    slow = [
        entry("getDeployStatus", {"id": 1}, {"phase": n // 8, "checked_at": CLOCK.format(n % 60, 0)}) for n in range(64)
    ]
    yield trace("poll-eight-frozen-then-on", slow, QUIET)
    nearly = [entry("job_status", {"id": 1}, "running") for _ in range(18)] + [entry("job_status", {"id": 1}, "done")]
    yield trace("poll-eighteen-then-done", nearly, HINT)
    browser = repeated(
        lambda n: entry("browser_wait_for", {"text": "Ready", "timeout": 5}, "timed out, still loading"), 9
    )
    yield trace("browser-wait", browser, QUIET)
    waits = repeated(lambda n: entry("wait", {"seconds": 30}, "waited"), 40)
    yield trace("waiting-only", waits, QUIET)
    sleeps = repeated(lambda n: entry("sleep", {"ms": 500}, ""), 40)
    yield trace("sleeping-only", sleeps, QUIET)
    paced = [
        one
        for n in range(40)
        for one in (entry("Sleep", {"seconds": 30}, ""), entry("get_job_status", {"id": 1}, f"{n} of 40"))
    ]
    yield trace("poll-paced-by-waits", paced, QUIET)
    paced = [
        one
        for n in range(40)
        for one in (entry("bash", {"command": "sleep 30"}, ""), entry("job_status", {"id": 1}, f"{n} of 40"))
    ]
    yield trace("poll-paced-by-shell-sleep", paced, QUIET)
    robin = [entry("job_status", {"id": n % 5}, f"{n // 5} of 10") for n in range(50)]
    yield trace("poll-five-jobs", robin, QUIET)
    robin = [entry("job_status", {"id": n % 5}, "running" if n < 20 else "done") for n in range(25)]
    yield trace("poll-five-jobs-frozen-few", robin, HINT)
    patient = {"render_state": {"poll": True, "frozen_limit": 60}}
    calls = [entry("render_state", {"id": 9}, "rendering") for _ in range(55)] + [
        entry("render_state", {"id": 9}, "ok")
    ]
    yield trace("poll-patient-policy", calls, HINT, tools=patient)
    calls = [entry("render_state", {"id": 9}, "rendering") for _ in range(64)]
    yield trace("poll-patient-policy-exhausted", calls, BLOCK, within=(60, 62), rule=POLL, tools=patient)
    declared = {"look": {"poll": True}}
    yield trace("poll-declared", [entry("look", {}, f"{n} birds") for n in range(45)], QUIET, tools=declared)
    calls = [entry("look", {}, "no birds") for _ in range(23)]
    yield trace("poll-declared-frozen", calls, BLOCK, within=(20, 22), rule=POLL, tools=declared)
    eager = {"look": {"poll": True, "frozen_limit": 12}}
    yield trace("poll-declared-short", calls, BLOCK, within=(12, 14), rule=POLL, tools=eager)
    for tool in (
        "job_status",
        "getBuildStatus",
        "mcp__k8s__rollout_status",
        "poll",
        "process_poll",
        "check_status",
        "任务_status",
    ):
        calls = repeated(lambda n, tool=tool: entry(tool, {"id": 1}, {"state": "running"}), 23)
        yield trace(f"frozen-plain-{tool}", calls, BLOCK, within=(20, 22), rule=POLL)
    failing = repeated(lambda n: failed("job_status", {"id": 1}, "connection refused"), 23)
    yield trace("frozen-failing", failing, BLOCK, within=(20, 32))
    paced = [
        one
        for _ in range(24)
        for one in (entry("wait", {"seconds": 5}, "ok"), entry("job_status", {"id": 1}, "running"))
    ]
    yield trace("frozen-between-waits", paced, BLOCK, within=(20, 44), rule=POLL)
    nudged = [one for _ in range(6) for one in (*([entry("job_status", {"id": 1}, "running")] * 4), event("nudge"))]
    yield trace("frozen-between-nudges", nudged, LOOP)
    shell = repeated(lambda n: entry("bash", {"command": "sleep 5; cat status"}, "running"), 33)
    yield trace("frozen-shell-sleep-and-look", shell, BLOCK, within=(20, 32))
    moving = repeated(lambda n: entry("bash", {"command": "sleep 5; cat status"}, f"{n} of 50"), 45)
    yield trace("moving-shell-poll", moving, HINT)
