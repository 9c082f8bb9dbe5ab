"""One call again and again; only noise in the result is new."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.core.loops.variants.building import (
    BLOCK,
    BREAKER,
    LOOP,
    POLL,
    Trace,
    digits,
    entry,
    failed,
    repeated,
    trace,
    ulid,
    uuid,
)

Result = Callable[[int], object]


def seconds(n):
    return f"{(n * 37 % 90) / 7 + 0.31:.2f}"


def clock(n):
    return f"2026-05-01T{10 + n // 60:02d}:{n % 60:02d}:{n * 7 % 60:02d}"


# Only what SPEC 11 names: labelled times, durations, pids, request ids, nonces.
NAMED: dict[str, tuple[str, dict[str, Any], bool, Result]] = {
    "test-summary-duration": (
        "bash",
        {"command": "pytest -q"},
        True,
        lambda n: f"F\n1 failed, 3 passed in {seconds(n)}s",
    ),
    "cargo-duration": (
        "shell",
        {"cmd": "cargo build"},
        False,
        lambda n: f"Finished `dev` profile target(s) in {seconds(n)}s",
    ),
    "npm-duration": (
        "run_terminal_cmd",
        {"command": "npm ci"},
        False,
        lambda n: f"up to date, audited 12 packages in {n % 9 + 1}s",
    ),
    "jest-time": (
        "Bash",
        {"command": "npx jest"},
        True,
        lambda n: f"Tests: 1 failed, 1 total\nTime:        {seconds(n)} s",
    ),
    "shell-times": (
        "bash",
        {"command": "time ls"},
        False,
        lambda n: f"a b\nreal\t0m{seconds(n)}s\nuser\t0m0.0{n % 10}s\nsys\t0m0.00{n % 9}s",
    ),
    "go-ok-duration": ("exec", {"command": "go test ./..."}, True, lambda n: f"FAIL\texample.com/x\t{seconds(n)}s"),
    "search-took": (
        "es_query",
        {"index": "logs"},
        False,
        lambda n: {"took": n * 3 % 17, "timed_out": False, "hits": {"total": 0, "hits": []}},
    ),
    "duration-words": (
        "exec",
        {"command": "make"},
        True,
        lambda n: f"make: *** [all] Error 2\nelapsed time: {n // 2 + 1} minutes {n * 7 % 60} seconds",
    ),
    "took-words": ("runTests", {}, True, lambda n: f"2 failures. It took {n + 3} milliseconds."),
    "iso-duration": (
        "workflow_run",
        {"name": "w"},
        False,
        lambda n: {"result": "skipped", "duration": f"PT{n + 1}.{n % 10}S"},
    ),
    "wall-time": (
        "exec_command",
        {"cmd": "ls"},
        False,
        lambda n: f"Wall time: {seconds(n)} seconds\nProcess exited with code 0\nOutput:\na\n",
    ),
    "nested-timing": (
        "mcp__db__query",
        {"sql": "select 1"},
        False,
        lambda n: {"rows": [], "meta": {"timing": {"total_ms": n + 4, "queueMs": n % 3}}},
    ),
    "latency-camel": (
        "httpRequest",
        {"url": "http://h/"},
        False,
        lambda n: {"status": 200, "body": "ok", "latencyMs": 12 + n},
    ),
    "execution-time-text": (
        "sql",
        {"query": "select * from t"},
        False,
        lambda n: f"(0 rows)\nExecution time: {seconds(n)} ms",
    ),
    "rfc-date-header": (
        "fetch",
        {"url": "http://h/x"},
        False,
        lambda n: f"HTTP/1.1 200 OK\nDate: Mon, 04 May 2026 10:{n:02d}:11 GMT\nContent-Length: 2\n\nok",
    ),
    "timestamp-field": (
        "sensor_read",
        {"id": 3},
        False,
        lambda n: {"value": 4, "timestamp": f"{clock(n)}.{n * 31 % 1000:03d}Z"},
    ),
    "timestamp-epoch-ms": ("sensorRead", {"id": 3}, False, lambda n: {"value": 4, "ts": 1770000000000 + n * 1371}),
    "log-line-time": ("run_task", {"task": "sync"}, True, lambda n: f"{clock(n)}Z ERROR connection refused"),
    "log-line-bracketed": (
        "run_task",
        {"task": "sync"},
        True,
        lambda n: f"[{clock(n).replace('T', ' ')},{n * 13 % 1000:03d}] ERROR in app: connection refused",
    ),
    "time-label": ("get_quota", {"user": "u"}, False, lambda n: f"time: 10:{n:02d}:59, quota used 3 of 10"),
    "generated-at": ("report", {"kind": "daily"}, False, lambda n: {"rows": 0, "generatedAt": clock(n) + "+02:00"}),
    "pid-text": (
        "exec",
        {"command": "./server"},
        True,
        lambda n: f"process {4000 + n * 3} exited with code 1 (pid {4000 + n * 3})",
    ),
    "pid-label": ("bash", {"command": "./x"}, True, lambda n: f"PID: {900 + n}\nSegmentation fault"),
    "request-id-parenthesis": (
        "llm_call",
        {"prompt": "x"},
        True,
        lambda n: f"Overloaded (request id: req_011{digits(n, 20)})",
    ),
    "request-id-header": (
        "http_get",
        {"url": "http://h"},
        True,
        lambda n: f"500 Internal Server Error\nx-request-id: {uuid(n)}",
    ),
    "request-id-sentence": (
        "chat",
        {"text": "x"},
        True,
        lambda n: f"The server had an error. Include the request ID {uuid(n)} in your message.",
    ),
    "aws-xml": (
        "s3_head",
        {"key": "k"},
        True,
        lambda n: (
            f"<Error><Code>SlowDown</Code><RequestId>{digits(n, 16).upper()}</RequestId><HostId>{digits(n + 99, 40)}=</HostId></Error>"
        ),
    ),
    "correlation-ulid": ("crmLookup", {"id": 7}, True, lambda n: f"upstream failure, correlation_id={ulid(n)}"),
    "trace-id": (
        "get_order",
        {"id": 7},
        True,
        lambda n: {"error": "internal", "traceId": digits(n, 32), "spanId": digits(n + 50, 16)},
    ),
    "traceparent": (
        "api_get",
        {"path": "/x"},
        True,
        lambda n: f"502\ntraceparent: 00-{digits(n, 32)}-{digits(n, 16)}-01",
    ),
    "ray-id": ("web_fetch", {"url": "http://h/1"}, True, lambda n: f"Error 1020. Ray ID: {digits(n, 16)}"),
    "invocation-id": ("invoke", {"fn": "f"}, True, lambda n: f"RequestId: {uuid(n)} Error: Runtime exited"),
    "nonce-field": ("act", {"ref": 1}, True, lambda n: {"nonce": digits(n, 12), "error": "not attached"}),
    "nonce-fence": (
        "browser_click",
        {"ref": "e4"},
        True,
        lambda n: f'<untrusted nonce="{digits(n)}">element is not attached</untrusted>',
    ),
    "nonce-in-tag": (
        "browserClick",
        {"ref": "e4"},
        True,
        lambda n: f"<<<UNTRUSTED_{digits(n)}>>>\nelement is not attached\n<<<END_UNTRUSTED_{digits(n)}>>>",
    ),
    "nonce-boundary-id": (
        "mcp__web__open",
        {"url": "http://h/1"},
        False,
        lambda n: f'<external-content boundary="{uuid(n)}">\nnothing here\n</external-content boundary="{uuid(n)}">',
    ),
    "uuid-event-id": ("emit", {"name": "ping"}, False, lambda n: {"accepted": True, "event_id": uuid(n)}),
    "temp-path": ("render", {"doc": "d"}, True, lambda n: f"cannot open /tmp/tmp{digits(n)}/out.pdf"),
    "temp-path-mac": (
        "render",
        {"doc": "d"},
        True,
        lambda n: f"cannot open /var/folders/x1/{digits(9)}/T/render-x{digits(n, 9)}.pdf",
    ),
    "temp-path-windows": (
        "render",
        {"doc": "d"},
        True,
        lambda n: f"cannot open C:\\Users\\me\\AppData\\Local\\Temp\\tmp{digits(n)}.pdf",
    ),
    "saved-output-path": (
        "bash",
        {"command": "find ."},
        False,
        lambda n: (
            f"<persisted-output>\nOutput too large (51KB). Full output saved to: /home/me/.cache/agent/tool-results/toolu_{digits(n, 20)}.txt\n\nPreview:\na\n"
        ),
    ),
    "memory-address": ("python", {"code": "print(o)"}, False, lambda n: f"<Widget object at 0x7f{digits(n, 10)}>"),
    "session-of-run": (
        "exec",
        {"command": "lint"},
        False,
        lambda n: {"runId": uuid(n), "exitCode": 0, "stdout": "clean", "startTime": clock(n), "endTime": clock(n + 1)},
    ),
}

# Noise that SPEC 11 does not name; being warned of is enough.
UNNAMED: dict[str, tuple[str, dict[str, Any], bool, Result]] = {
    "pid-syslog": ("shell", {"command": "svc start"}, True, lambda n: f"svcd[{5120 + n}]: cannot bind"),
    "ephemeral-port": (
        "exec",
        {"command": "nc h 1"},
        True,
        lambda n: f"connect 127.0.0.1:{49152 + n * 11} -> h:1 refused",
    ),
    "container-age": (
        "bash",
        {"command": "kubectl get pods"},
        False,
        lambda n: f"NAME READY STATUS AGE\nweb-0 0/1 Pending {n // 6}m{n * 10 % 60}s",
    ),
    "colour-flicker": ("bash", {"command": "lint"}, True, lambda n: "\x1b[31m1 error\x1b[0m" if n % 2 else "1 error"),
    "progress-frames": (
        "bash",
        {"command": "get f"},
        True,
        lambda n: "".join(f"\r{step * (n % 5 + 1)}%" for step in range(5)) + "\rconnection reset",
    ),
    "docker-up": ("exec", {"command": "docker ps"}, False, lambda n: f"web Up {n + 2} minutes"),
    "host-name": ("exec", {"command": "job"}, True, lambda n: f"worker-{digits(n, 5)} lost"),
}

# What a repeated sending or creating returns is a receipt, not news.
RECEIPTS: dict[str, tuple[str, dict[str, Any], Result]] = {
    "slack": (
        "slack_post_message",
        {"channel": "C1", "text": "hi"},
        lambda n: {"ok": True, "channel": "C1", "ts": f"17700000{n:02d}.000{n:03d}"},
    ),
    "slack-mcp": (
        "mcp__slack__chat_postMessage",
        {"channel": "C1", "text": "hi"},
        lambda n: {"ok": True, "message": {"ts": f"17700000{n:02d}.1", "text": "hi"}},
    ),
    "telegram": (
        "sendMessage",
        {"chat_id": 5, "text": "hi"},
        lambda n: {"ok": True, "result": {"message_id": 70 + n, "date": 1770000000 + n, "text": "hi"}},
    ),
    "mail-text": (
        "send_email",
        {"to": "a@h.example", "subject": "s", "body": "b"},
        lambda n: f"Email sent. Message-ID: <{digits(n, 20)}@h.example>",
    ),
    "sms": ("twilio_send_sms", {"to": "+1", "body": "b"}, lambda n: {"sid": f"SM{digits(n, 32)}", "status": "queued"}),
    "issue-text": ("create_issue", {"title": "disk full"}, lambda n: f"Created issue #{501 + n}"),
    "issue-url": (
        "github_create_issue",
        {"title": "disk full"},
        lambda n: {"number": 40 + n, "html_url": f"https://h.example/o/r/issues/{40 + n}"},
    ),
    "issue-key": (
        "mcp__jira__createIssue",
        {"summary": "disk full"},
        lambda n: {"key": f"OPS-{501 + n}", "id": str(10501 + n), "self": f"https://h.example/rest/{10501 + n}"},
    ),
    "row": ("insert_row", {"table": "t", "values": [1]}, lambda n: {"inserted": 1, "row_id": 900 + n}),
    "comment": ("addComment", {"issue": 3, "body": "ping"}, lambda n: {"id": f"c-{digits(n)}", "issue": 3}),
    "event": (
        "calendar_create_event",
        {"title": "Review", "start": "2026-05-01T10:00"},
        lambda n: {"eventId": digits(n, 26), "status": "confirmed", "created": f"2026-04-01T10:{n:02d}:00Z"},
    ),
    "order": (
        "place_order",
        {"sku": "a", "quantity": 1},
        lambda n: {"order_id": f"ORD-{3000 + n}", "status": "accepted"},
    ),
    "webhook": (
        "post_webhook",
        {"url": "http://h/x", "json": {"a": 1}},
        lambda n: {"status": 202, "deliveryId": uuid(n)},
    ),
    "notification": ("notify", {"text": "done"}, lambda n: f"notification {uuid(n)} queued"),
    "branch": ("create_branch", {"prefix": "fix"}, lambda n: {"ok": True, "id": 100 + n, "name": "fix"}),
    "duplicate-note": ("notes_create", {"title": "n"}, lambda n: f"Note created with id {7000 + n}"),
    "publish": (
        "kafkaPublish",
        {"topic": "t", "value": "v"},
        lambda n: {"partition": 0, "offset": 800 + n, "timestamp": 1770000000000 + n},
    ),
}

# Frozen polls: time passes, nothing else.
FROZEN: dict[str, tuple[str, dict[str, Any], Result]] = {
    "job-since": (
        "get_job_status",
        {"job_id": "a"},
        lambda n: f"RUNNING, started 2026-05-01 09:00, running for {n + 1} minutes",
    ),
    "job-camel": (
        "jobStatus",
        {"jobId": "a"},
        lambda n: {"state": "QUEUED", "checkedAt": clock(n), "elapsedSeconds": n * 5},
    ),
    "build-mcp": (
        "mcp__ci__build_status",
        {"build": 9},
        lambda n: {"status": "in_progress", "step": 2, "durationMs": 1000 * n, "requestId": uuid(n)},
    ),
    "deploy": (
        "check_deployment_status",
        {"name": "web"},
        lambda n: f"Waiting for rollout: 0 of 2 updated replicas are available... (elapsed {n * 10}s)",
    ),
    "process-poll": (
        "process",
        {"action": "poll", "session": "s"},
        lambda n: f"(no new output)\n\nProcess still running. pid {4100}; uptime: {n * 3}s",
    ),
    "bash-output": (
        "BashOutput",
        {"bash_id": "b1"},
        lambda n: f"<status>running</status>\n<timestamp>{clock(n)}.{n:03d}Z</timestamp>",
    ),
    "task-output": (
        "TaskOutput",
        {"task_id": "t"},
        lambda n: {"retrieval_status": "not_ready", "task": {"status": "running"}, "elapsed": f"{n}s"},
    ),
    "training": ("poll_training", {"run": 4}, lambda n: f"epoch 3/10, last update {n + 1} seconds ago"),
    "batch": (
        "retrieve_batch_status",
        {"id": "b"},
        lambda n: {"status": "validating", "request_counts": {"total": 0}, "server_time": 1770000000 + n},
    ),
    "workflow": (
        "mcp__github__get_workflow_run_status",
        {"run_id": 1},
        lambda n: {"status": "queued", "conclusion": None, "polled_at": clock(n) + "Z"},
    ),
    "shell-poll": ("shell_poll", {"shell": "s"}, lambda n: {"output": "", "running": True, "elapsed_ms": 15 * n}),
    "vm-state": ("vm_status", {"vm": "v"}, lambda n: f"state: provisioning (for {n // 6} min {n * 10 % 60} s)"),
}


def traces() -> Iterator[Trace]:
    for name, (tool, args, error, result) in NAMED.items():
        make = failed if error else entry
        calls = repeated(lambda n, make=make, tool=tool, args=args, result=result: make(tool, args, result(n)), 33)
        yield trace(f"volatile-{name}", calls, BLOCK, within=(30, 32), rule=BREAKER)
    for name, (tool, args, error, result) in UNNAMED.items():
        make = failed if error else entry
        calls = repeated(lambda n, make=make, tool=tool, args=args, result=result: make(tool, args, result(n)), 33)
        yield trace(f"volatile-{name}", calls, LOOP)
    for name, (tool, args, result) in RECEIPTS.items():
        calls = repeated(lambda n, tool=tool, args=args, result=result: entry(tool, args, result(n)), 33)
        yield trace(f"receipt-{name}", calls, BLOCK, within=(30, 32), rule=BREAKER)
    for name, (tool, args, result) in FROZEN.items():
        calls = repeated(lambda n, tool=tool, args=args, result=result: entry(tool, args, result(n)), 23)
        yield trace(f"frozen-{name}", calls, BLOCK, within=(20, 22), rule=POLL)
