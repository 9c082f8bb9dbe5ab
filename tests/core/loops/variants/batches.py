"""Many different calls with one answer, pages, and long productive runs: work, not a loop."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.core.loops.variants.building import (
    HINT,
    QUIET,
    Trace,
    digits,
    entry,
    failed,
    repeated,
    said,
    trace,
    uuid,
)

Make = Callable[[int], dict[str, Any]]

# Writes and sends: every one is another deed.
DEEDS: dict[str, Make] = {
    "write": lambda n: entry("Write", {"file_path": f"/w/f{n}.md", "content": "body"}, "File created successfully"),
    "write-one-file": lambda n: entry("write_file", {"path": "a.md", "content": f"v{n}"}, "ok"),
    "edit": lambda n: entry(
        "Edit", {"file_path": "a.py", "old_string": f"a{n}", "new_string": "b"}, "The file has been updated."
    ),
    "edit-camel": lambda n: entry("replaceInFile", {"path": "a.py", "diff": f"- a{n}\n+ b{n}"}, "applied"),
    "edit-same-words": lambda n: entry(
        "edit_file", {"path": f"p{n}.py", "old": "a", "new": "b"}, "replaced 1 occurrence"
    ),
    "insert-lines": lambda n: entry("insert_line", {"path": "a.py", "line": n, "text": "x"}, "inserted"),
    "replace-lines": lambda n: entry(
        "replace_lines", {"path": "a.py", "start_line": n, "end_line": n, "text": ""}, "ok"
    ),
    "patch": lambda n: entry("apply_patch", {"patch": f"*** Update File: a{n}\n"}, "Done!"),
    "move": lambda n: entry("move_file", {"from": f"a{n}", "to": "lib/"}, "moved"),
    "delete": lambda n: entry("delete_file", {"path": f"a{n}"}, "deleted"),
    "delete-pages": lambda n: entry("deleteRows", {"page": n}, "deleted 100 rows"),
    "archive-pages": lambda n: entry("archive_messages", {"page": n, "page_size": 50}, "archived 50"),
    "purge-offset": lambda n: entry("mcp__db__purge", {"offset": n * 100, "limit": 100}, {"purged": 100}),
    "migrate-cursor": lambda n: entry("migrate_users", {"cursor": digits(n)}, "500 migrated"),
    "import-pages": lambda n: entry("import_page", {"page": n}, "imported"),
    "sync-pages": lambda n: entry("syncPage", {"page": n}, "synced 50"),
    "process-offset": lambda n: entry("process_batch", {"offset": n * 10}, "processed 10"),
    "translate-pages": lambda n: entry("translate_page", {"doc": "d", "page": n}, "ok"),
    "render-pages": lambda n: entry("render_page", {"doc": "d", "page": n}, "rendered"),
    "ocr-pages": lambda n: entry("ocr_page", {"doc": "d", "page": n}, "done"),
    "download-pages": lambda n: entry("download_page", {"page": n}, "saved"),
    "export-offset": lambda n: entry(
        "export_rows", {"table": "t", "offset": n * 100, "limit": 100}, "exported 100 rows"
    ),
    "index-chunks": lambda n: entry("index_chunk", {"doc": "d", "chunk": n}, "indexed"),
    "upload-parts": lambda n: entry("upload_part", {"upload": "u", "part": n}, "ok"),
    "mail": lambda n: entry("send_email", {"to": f"u{n}@h.example", "subject": "s"}, "sent"),
    "mail-ids": lambda n: entry("sendEmail", {"to": f"u{n}@h.example", "subject": "s"}, {"ok": True, "id": uuid(n)}),
    "rooms": lambda n: entry("post_message", {"room": n, "text": "maintenance"}, {"ok": True}),
    "users": lambda n: entry("create_user", {"name": f"u{n}"}, {"ok": True}),
    "tickets": lambda n: entry("createTicket", {"title": f"t{n}"}, {"id": 500 + n}),
    "issue-bodies": lambda n: entry("create_issue", {"title": "Flaky test", "description": f"test {n}"}, {"ok": True}),
    "approvals": lambda n: entry("approve_request", {"request_id": f"r{n}", "decision": "yes"}, "approved"),
    "cancel": lambda n: entry("cancel_request", {"requestId": uuid(n), "reason": "old"}, "cancelled"),
    "kill": lambda n: entry("kill_process", {"pid": 4000 + n}, "killed"),
    "kill-shell": lambda n: entry("bash", {"command": f"kill {4000 + n}"}, ""),
    "close-sessions": lambda n: entry("close_session", {"session_id": digits(n)}, "closed"),
    "close-traces": lambda n: entry("resolve_trace", {"trace_id": digits(n, 32), "note": "x"}, "ok"),
    "temp-files": lambda n: entry("delete_file", {"path": f"/tmp/tmp{digits(n)}"}, "deleted"),
    "metrics": lambda n: entry("log_metric", {"name": "m", "value": 1, "timestamp": 1770000000 + n}, "ok"),
    "tokens": lambda n: entry("revoke_token", {"token": digits(n)}, "revoked"),
    "labels": lambda n: entry("add_label", {"issue": n, "label": "bug"}, "ok"),
    "retries": lambda n: entry("enqueue", {"attempt": n, "job": "j"}, "queued"),
    "progress-notes": lambda n: entry("report_progress", {"percent": n}, "ok"),
    "thoughts": lambda n: entry("think", {"thought": f"idea {n}"}, "Your thought has been logged."),
    "todo-moves": lambda n: entry(
        "TodoWrite",
        {"todos": [{"content": f"s{k}", "status": "done" if k < n else "open"} for k in range(45)]},
        "Todos have been modified",
    ),
    "memory": lambda n: entry("memory_add", {"fact": f"f{n}"}, "stored"),
    "mkdir": lambda n: entry("bash", {"command": f"mkdir -p out/{n}"}, ""),
    "git-mv": lambda n: entry("bash", {"command": f"git mv C{n}.ts lib/"}, ""),
    "touch": lambda n: entry("shell", {"command": ["touch", f"f{n}"]}, ""),
    "sed": lambda n: entry("bash", {"command": f"sed -i 's/a/b/' f{n}.py"}, ""),
    "heredoc": lambda n: entry("bash", {"command": f"cat > f{n} <<'EOF'\n  body\nEOF"}, ""),
    "redirect": lambda n: entry("bash", {"command": f"echo {n} >> list.txt"}, ""),
    "german-write": lambda n: entry("datei_schreiben", {"pfad": f"f{n}", "inhalt": "x"}, "geschrieben"),
    "click": lambda n: entry("computer", {"action": "left_click", "coordinate": [n, 2 * n]}, ""),
    "fill": lambda n: entry("browser_fill", {"ref": f"e{n}", "value": "x"}, "ok"),
    "nested": lambda n: entry("update_record", {"record": {"fields": [{"key": "k", "value": n}]}}, "updated"),
    "indentation": lambda n: entry("write_file", {"path": "a.py", "content": "x" + " " * n + "y"}, "ok"),
}

# Reads and runs with one answer: a hint is fair, a block is not.
CHECKS: dict[str, Make] = {
    "lint": lambda n: entry("bash", {"command": f"ruff check f{n}.py"}, "All checks passed!"),
    "tests": lambda n: entry("run_test", {"file": f"test_{n}.py"}, "1 passed"),
    "tests-timed": lambda n: entry(
        "bash", {"command": f"pytest tests/test_{n}.py"}, f"1 passed in 0.{n % 10}{n // 10}s"
    ),
    "validate": lambda n: entry("validate_json", {"path": f"f{n}.json"}, "valid"),
    "headers": lambda n: entry("Read", {"file_path": f"inc/h{n}.h"}, "#pragma once"),
    "empty-files": lambda n: entry("read_file", {"path": f"pkg{n}/__init__.py"}, ""),
    "scripts": lambda n: entry("bash", {"command": f"python step{n}.py"}, "done"),
    "thumbs": lambda n: entry("exec", {"command": f"convert in{n}.png -resize 50% out{n}.png"}, ""),
    "prices": lambda n: entry("get_price", {"sku": f"s{n}"}, {"price": None}),
    "dns": lambda n: entry("dns_lookup", {"host": f"h{n}.example"}, "NXDOMAIN"),
    "verify-pages": lambda n: entry("verify_signature", {"document": f"d{n}"}, "ok"),
    "spaces-in-code": lambda n: entry("python", {"code": f"print(' ' * {n} and 1)"}, "1"),
    "quoted-blanks": lambda n: entry("bash", {"command": f"grep 'a{' ' * n}b' f"}, ""),
    "jobs-done": lambda n: entry("job_status", {"id": n}, "done"),
    "polls-mcp": lambda n: entry("mcp__ci__build_status", {"build": n}, {"status": "passed"}),
}

# The results differ, so nothing at all is to be said.
PAGES: dict[str, Make] = {
    "windows": lambda n: entry(
        "read_file", {"path": "b", "start_line": 40 * n + 1, "end_line": 40 * n + 40}, f"lines {40 * n + 1}.."
    ),
    "offsets": lambda n: entry("Read", {"file_path": "b", "offset": 100 * n, "limit": 100}, f"{100 * n}\tx"),
    "pages": lambda n: entry("list_orders", {"page": n}, [{"order": n}]),
    "cursors": lambda n: entry("listOrders", {"cursor": digits(n)}, {"items": [digits(n + 1)], "next": digits(n + 1)}),
    "tokens": lambda n: entry("mcp__s3__list", {"continuation_token": digits(n)}, {"keys": [f"k{n}"]}),
    "sed": lambda n: entry("bash", {"command": f"sed -n '{n * 50},{n * 50 + 49}p' b.py"}, f"def f{n}(): ..."),
    "view-range": lambda n: entry(
        "str_replace_editor", {"command": "view", "path": "b", "view_range": [n * 9, n * 9 + 8]}, f"{n * 9} x"
    ),
    "queries": lambda n: entry("execute_promql", {"query": f"m{n}"}, str(n)),
    "nested": lambda n: entry("query_db", {"filter": {"and": [{"id": n}]}}, f"row {n}"),
    "web": lambda n: entry("WebSearch", {"query": f"topic {n}"}, f"result about {n}"),
    "commands": lambda n: entry("bash", {"command": f"python probe{n}.py"}, f"score {n * 7919 % 101}"),
    "issues": lambda n: entry("get_issue", {"number": n}, {"title": f"t{n}", "state": "open"}),
}


def traces() -> Iterator[Trace]:
    for name, make in DEEDS.items():
        yield trace(f"deeds-{name}", repeated(make, 45), QUIET)
    for name, make in CHECKS.items():
        yield trace(f"checks-{name}", repeated(make, 45), HINT)
    for name, make in PAGES.items():
        yield trace(f"pages-{name}", repeated(make, 60), QUIET)

    at_once = [entry("Read", {"file_path": f"s{n}.ts"}, f"code {n}", turn=1) for n in range(16)]
    yield trace("parallel-reads", at_once, QUIET)
    at_once = [entry("Grep", {"pattern": f"p{n}"}, "No files found", turn=n // 5) for n in range(9)]
    yield trace("parallel-searches-without-hits", at_once, QUIET)
    at_once = [entry("execute_promql", {"query": f"m{n}"}, str(n), turn=n // 6) for n in range(24)]
    yield trace("parallel-metrics", at_once, QUIET)

    refactor = []
    for n in range(12):
        refactor += [
            entry("Grep", {"pattern": f"Widget{n}"}, f"w{n}.ts"),
            entry("Read", {"file_path": f"w{n}.ts"}, f"class Widget{n}"),
            said("Now I update the import."),
            entry("Edit", {"file_path": f"w{n}.ts", "old_string": "a", "new_string": "b"}, "updated"),
            failed("Bash", {"command": "npx tsc --noEmit"}, f"error in w{n + 1}.ts")
            if n % 3
            else entry("Bash", {"command": "npx tsc --noEmit"}, ""),
        ]
    yield trace("long-refactor", refactor, HINT)
    form = []
    for n in range(20):
        form += [
            entry("browser_fill", {"ref": f"e{n}", "value": "x"}),
            entry("browser_snapshot", {}, f"form, field {n} filled"),
        ]
    yield trace("form-filling", form, HINT)
    support = []
    for n in range(25):
        support += [
            entry("claim_ticket", {}, {"ticket_id": n}),
            entry("reply", {"ticket": n, "text": "Thanks, fixed."}, "sent"),
        ]
    yield trace("tickets-claimed-and-answered", support, HINT)
    flaky = []
    for n in range(20):
        flaky += [
            failed("http_get", {"url": f"http://h/{n}"}, "503"),
            entry("http_get", {"url": f"http://h/{n}"}, f"body {n}"),
        ]
    yield trace("every-url-fails-once", flaky, QUIET)
    flaky = [
        *([failed("http_get", {"url": "http://h/s"}, "503")] * 6),
        entry("http_get", {"url": "http://h/s"}, "ok"),
        entry("write_file", {"path": "o"}),
    ]
    yield trace("six-failures-then-ok", flaky, QUIET)
    refused = []
    for n in range(15):
        write = {"path": f"l{n}.py", "content": "c"}
        refused += [
            failed("write_file", write, "read it first"),
            entry("read_file", {"path": f"l{n}.py"}, f"old {n}"),
            entry("write_file", write),
        ]
    yield trace("every-write-refused-until-read", refused, HINT)
    rates = []
    for n in range(15):
        rates += [
            failed("api_get", {"path": f"/{n}"}, "429 rate limited, retry after 2 s"),
            entry("wait", {"seconds": 2}),
            entry("api_get", {"path": f"/{n}"}, f"v{n}"),
        ]
    yield trace("rate-limited-but-moving", rates, HINT)
