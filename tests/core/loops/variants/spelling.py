"""One call in several spellings; the outcome never changes."""

from collections.abc import Iterator
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

# (tool, spellings): SPEC 11 says that these are one call, so the 31st is blocked.
SAME: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "key-order-nested": (
        "query",
        [{"where": {"a": 1, "b": [1, 2]}, "table": "t"}, {"table": "t", "where": {"b": [1, 2], "a": 1}}],
    ),
    "whole-floats": ("get_page_text", [{"doc": 3, "zoom": 1}, {"doc": 3.0, "zoom": 1.0}]),
    "whole-floats-nested": (
        "mcp__maps__route",
        [{"via": [{"lat": 48, "lon": 11}]}, {"via": [{"lat": 48.0, "lon": 11.0}]}],
    ),
    "null-absent": (
        "fsRead",
        [{"path": "a"}, {"path": "a", "encoding": None}, {"path": "a", "encoding": None, "start": None}],
    ),
    "null-absent-nested": ("search", [{"q": "x", "filter": {}}, {"q": "x", "filter": {"lang": None}}]),
    "outer-blanks": ("grep", [{"pattern": "schema"}, {"pattern": " schema "}, {"pattern": "schema\n"}]),
    "trailing-slash": ("ls", [{"path": "/w/src"}, {"path": "/w/src/"}, {"path": "/w//src"}]),
    "dot-segments": ("readFile", [{"path": "./a/b.txt"}, {"path": "a/b.txt"}, {"path": "a/./b.txt"}]),
    "command-blanks": (
        "run_terminal_cmd",
        [{"command": "git  status"}, {"command": "git status "}, {"command": "\tgit status\n"}],
    ),
    "shell-description": ("Bash", [{"command": "ls", "description": f"List files, take {n}"} for n in range(7)]),
    "cursor-explanation": ("codebase_search", [{"query": "x", "explanation": f"because {n}"} for n in range(33)]),
    "thought-beside": (
        "str_replace_editor",
        [{"command": "view", "path": "/w/a", "thought": f"t{n}"} for n in range(33)],
    ),
    "paging-of-a-read": ("read_file", [{"path": "a", "offset": n * 40, "limit": 40} for n in range(33)]),
    "camel-paging": ("ReadFile", [{"path": "a", "startLine": n, "endLine": n + 5} for n in range(33)]),
    "mcp-paging": ("mcp__fs__read_text_file", [{"path": "a", "head": n + 1} for n in range(33)]),
    "limit-of-search": ("search_code", [{"query": "x", "max_results": n + 1} for n in range(33)]),
    "cursor-of-list": ("list_contacts", [{"cursor": digits(n)} for n in range(33)]),
    "page-of-list": ("list_orders", [{"status": "open", "page": n} for n in range(33)]),
    "page-size": ("getOrders", [{"status": "open", "pageSize": n + 1} for n in range(33)]),
}

# A few spellings that differ, but come back in turn: nothing new after the first pass.
ROTATING: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "working-directory": (
        "bash",
        [{"command": "cd /w && ls"}, {"command": "cd /w; ls"}, {"command": "(cd /w && ls)"}, {"command": "ls /w"}],
    ),
    "quoting": (
        "shell",
        [{"command": "grep -rn 'x' src"}, {"command": 'grep -rn "x" src'}, {"command": "grep -rn x src"}],
    ),
    "flag-order": (
        "bash",
        [{"command": "ls -la"}, {"command": "ls -al"}, {"command": "ls -l -a"}, {"command": "ls -a -l"}],
    ),
    "url-spelling": (
        "WebFetch",
        [
            {"url": "http://h.example"},
            {"url": "http://h.example/"},
            {"url": "HTTP://H.example/"},
            {"url": "http://h.example/#top"},
        ],
    ),
    "query-order": ("http_get", [{"url": "http://h/?a=1&b=2"}, {"url": "http://h/?b=2&a=1"}]),
    "absolute-relative": ("Read", [{"file_path": "/w/a.py"}, {"file_path": "a.py"}, {"file_path": "~/w/a.py"}]),
    "list-or-text": ("shell", [{"command": ["bash", "-lc", "ls"]}, {"command": "ls"}, {"command": ["ls"]}]),
    "true-or-text": ("find", [{"name": "x", "recursive": True}, {"name": "x", "recursive": "true"}, {"name": "x"}]),
    "number-or-text": ("get_item", [{"id": 7}, {"id": "7"}, {"id": "007"}]),
    "defaults-shown": (
        "glob",
        [{"pattern": "*.py"}, {"pattern": "*.py", "path": "."}, {"pattern": "*.py", "hidden": False}],
    ),
    "synonym-keys": ("view", [{"path": "a"}, {"file": "a"}, {"filename": "a"}]),
    "case-of-query": ("web_search", [{"q": "Loop Guard"}, {"q": "loop guard"}, {"q": "LOOP GUARD"}]),
}

# A key that only makes the call look new.
BUSTERS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "timeout-of-read": ("fetch_url", [{"url": "http://h/a", "timeout_ms": 1000 + n} for n in range(33)]),
    "url-underscore": ("http_get", [{"url": f"http://h/s?_={1770000000 + n}"} for n in range(33)]),
    "url-cache-bust": ("fetch", [{"url": f"http://h/s?cachebust={digits(n)}"} for n in range(33)]),
    "underscore-key": ("get_price", [{"symbol": "X", "_t": 1770000000 + n} for n in range(33)]),
    "cache-key": ("getPrice", [{"symbol": "X", "cacheBuster": digits(n)} for n in range(33)]),
    "nonce-key": ("get_price", [{"symbol": "X", "nonce": digits(n)} for n in range(33)]),
    "shell-comment": ("bash", [{"command": f"cat a.txt # try {n}"} for n in range(33)]),
    "shell-echo": ("bash", [{"command": f"echo {n}; cat a.txt"} for n in range(33)]),
    "trace-key": ("list_files", [{"path": ".", "trace_id": digits(n, 32)} for n in range(33)]),
    "request-key": ("listFiles", [{"path": ".", "requestId": uuid(n)} for n in range(33)]),
}

# Writing again what was written, under a fresh key.
FRESH_KEYS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "idempotency-key": ("send_message", [{"to": "a", "text": "done", "idempotency_key": uuid(n)} for n in range(33)]),
    "client-message-id": ("sendMessage", [{"to": "a", "text": "done", "clientRequestId": ulid(n)} for n in range(33)]),
}


def traces() -> Iterator[Trace]:
    for name, (tool, spellings) in SAME.items():
        calls = repeated(lambda n, tool=tool, every=spellings: entry(tool, every[n % len(every)], "same text"), 33)
        yield trace(f"spelled-{name}", calls, BLOCK, within=(30, 32), rule=BREAKER)
        calls = repeated(
            lambda n, tool=tool, every=spellings: failed(tool, every[n % len(every)], "cannot do that"), 33
        )
        yield trace(f"spelled-failing-{name}", calls, BLOCK, within=(30, 32), rule=BREAKER)
    for name, (tool, spellings) in ROTATING.items():
        calls = repeated(lambda n, tool=tool, every=spellings: entry(tool, every[n % len(every)], "same text"), 36)
        yield trace(f"rotating-{name}", calls, BLOCK, within=(30, 36), rule=BREAKER)
    for name, (tool, spellings) in BUSTERS.items():
        calls = repeated(lambda n, tool=tool, every=spellings: entry(tool, every[n], "same text"), 33)
        yield trace(f"buster-{name}", calls, LOOP)
    for name, (tool, spellings) in FRESH_KEYS.items():
        calls = repeated(lambda n, tool=tool, every=spellings: entry(tool, every[n], {"ok": True, "id": n}), 33)
        yield trace(f"fresh-{name}", calls, LOOP)
    patience = repeated(lambda n: entry("job_status", {"job": 1, "timeout": n, "wait_ms": n * 10}, "pending"), 23)
    yield trace("patience-of-poll", patience, BLOCK, within=(20, 22), rule=POLL)
    policy = {"set_plan": {"loop_key": ["items.*.state", "goal"]}}
    plan = repeated(
        lambda n: entry(
            "set_plan", {"goal": "g", "items": [{"text": f"w{n}", "state": "todo"}, {"text": f"v{n}", "state": "done"}]}
        ),
        33,
    )
    yield trace("loop-key-plan", plan, LOOP, tools=policy)
    nested = {"mcp__board__sync": {"loop_key": ["board.id"]}}
    board = repeated(lambda n: entry("mcp__board__sync", {"board": {"id": 4, "note": f"w{n}"}}, "synced"), 33)
    yield trace("loop-key-nested", board, LOOP, tools=nested)
