"""Several known calls in turn, without a fixed place where one counter could see it."""

from collections.abc import Iterator

from tests.core.loops.variants.building import (
    BLOCK,
    BREAKER,
    HINT,
    LOOP,
    Trace,
    entry,
    event,
    failed,
    said,
    trace,
    uuid,
)

STEPS = {
    "snake": [
        entry("read_file", {"path": "m.py"}, "x = 1"),
        failed("edit_file", {"path": "m.py", "old": "y", "new": "z"}, "old text not found"),
        failed("run_tests", {}, "1 failed"),
        entry("list_files", {"path": "."}, "m.py"),
        entry("grep", {"pattern": "y"}, ""),
        entry("git_diff", {}, ""),
    ],
    "camel": [
        entry("readFile", {"filePath": "m.ts"}, "let x"),
        failed("applyDiff", {"filePath": "m.ts", "diff": "@@"}, "hunk does not apply"),
        failed("runCommand", {"command": "npm test"}, "1 failing"),
        entry("searchFiles", {"regex": "y"}, "no results"),
        entry("listCodeDefinitionNames", {"path": "."}, "x"),
        entry("getDiagnostics", {}, []),
    ],
    "mcp": [
        entry("mcp__memory__search_nodes", {"query": "owner"}, {"nodes": []}),
        entry("mcp__memory__read_graph", {}, {"entities": []}),
        entry("mcp__memory__open_nodes", {"names": ["owner"]}, {"nodes": []}),
        entry("mcp__fs__list_directory", {"path": "/w"}, "[FILE] a"),
        entry("mcp__fs__read_file", {"path": "/w/a"}, "a"),
        entry("mcp__git__git_status", {"repo": "/w"}, "clean"),
    ],
    "german": [
        entry("datei_lesen", {"pfad": "a.txt"}, "A"),
        entry("dateien_auflisten", {"pfad": "."}, "a.txt"),
        entry("suche", {"text": "x"}, "nichts gefunden"),
        entry("wetter", {"ort": "Ulm"}, "sonnig"),
        entry("rechner", {"term": "1+1"}, "2"),
        entry("hilfe", {}, "keine"),
    ],
    "shell": [
        entry("bash", {"command": "cat a.txt"}, "A"),
        entry("bash", {"command": "ls -la"}, "a.txt"),
        failed("bash", {"command": "python a.py"}, "Traceback: boom"),
        entry("bash", {"command": "git log --oneline | head"}, "abc1234 first"),
        entry("bash", {"command": "env | sort"}, "HOME=/h"),
        failed("bash", {"command": "make"}, "no rule"),
    ],
    "chinese": [
        entry("读取文件", {"路径": "a"}, "甲"),
        entry("列出文件", {"路径": "."}, "a"),
        entry("搜索", {"词": "乙"}, ""),
        entry("天气", {"城市": "北京"}, "晴"),
        entry("计算", {"式": "1+1"}, "2"),
        entry("帮助", {}, "无"),
    ],
}

UNTOLD = {"german": 1, "chinese": 1}
"""Names that do not tell what the tool does: the first round may have changed what the second finds."""


def hop(steps, count):
    return [steps[n % len(steps)] for n in range(count)]


def in_runs(steps, run, count):
    return [steps[n // run % len(steps)] for n in range(count)]


def irregular(steps, count):
    order = list(steps)
    value = 7
    for _ in range(count - len(steps)):
        value = value * 1103515245 + 12345 & 0x7FFFFFFF
        order.append(steps[(value >> 8) % len(steps)])
    return order


def traces() -> Iterator[Trace]:
    for name, steps in STEPS.items():
        for period in (2, 3, 4, 6):
            last = period + 32 + UNTOLD.get(name, 0) * period
            yield trace(f"hop-{period}-{name}", hop(steps[:period], last), BLOCK, within=(20, last), rule=BREAKER)
        yield trace(f"hop-in-runs-{name}", in_runs(steps[:4], 5, 54), BLOCK, within=(20, 54), rule=BREAKER)
        yield trace(f"hop-irregular-{name}", irregular(steps, 48), BLOCK, within=(20, 48), rule=BREAKER)

    pair = STEPS["snake"][:2]
    for kind in ("nudge", "compaction", "new_run"):
        calls = [one for n in range(30) for one in (pair[0], pair[1], *([event(kind)] if n % 8 == 7 else []))]
        yield trace(f"hop-through-{kind}", calls, BLOCK, within=(20, 60), rule=BREAKER)
    talk = [one for n in range(20) for one in (said(f"Let me look at thing {n}."), *pair)]
    yield trace("hop-with-talk", talk, BLOCK, within=(20, 60), rule=BREAKER)

    noisy = [failed("api_call", {"path": f"/{'ab'[n % 2]}"}, f"HTTP 500 (request id: {uuid(n)})") for n in range(36)]
    yield trace("hop-with-noise", noisy, BLOCK, within=(20, 36), rule=BREAKER)
    shuffled = [
        entry("read", {"path": "a", "mode": "r"} if n % 4 else {"mode": "r", "path": "a/"}, "A")
        if n % 2
        else entry("view", {"path": "b", "n": 1.0 if n % 4 else 1}, "B")
        for n in range(36)
    ]
    yield trace("hop-with-spelling", shuffled, BLOCK, within=(20, 36), rule=BREAKER)

    writes = [
        entry("Write", {"file_path": f"/w/{'abc'[n % 3]}.md", "content": "body"}, "File written") for n in range(36)
    ]
    yield trace("hop-writes-three-paths", writes, BLOCK, within=(20, 36), rule=BREAKER)
    toggles = [
        entry("str_replace", {"path": "a", "old_str": "xy"[n % 2], "new_str": "yx"[n % 2]}, "edited") for n in range(36)
    ]
    yield trace("hop-toggled-edit", toggles, BLOCK, within=(20, 36), rule=BREAKER)
    messages = [entry("send_message", {"to": "ab"[n % 2], "text": "ping"}, {"ok": True, "id": n}) for n in range(36)]
    yield trace("hop-two-receivers", messages, BLOCK, within=(20, 36), rule=BREAKER)
    flaky = [
        failed("http_get", {"url": "http://h/s"}, ("503 Service Unavailable", "read timed out")[n % 2])
        for n in range(40)
    ]
    yield trace("flaky-two-errors", flaky, LOOP)
    flaky = [failed("fetch", {"url": "http://h/s"}, ("503", "timed out", "reset by peer")[n % 3]) for n in range(40)]
    yield trace("flaky-three-errors", flaky, LOOP)

    fresh_between = []
    for n in range(31):
        fresh_between += [
            failed("bash", {"command": "go test ./..."}, "FAIL x"),
            entry("Read", {"file_path": f"f{n}.go"}, f"package f{n}"),
        ]
    yield trace("stale-test-between-fresh-reads", fresh_between, LOOP)
    three_pass = [entry("read_file", {"path": f"f{n % 12}"}, f"text {n % 12}") for n in range(45)]
    yield trace("three-passes-over-twelve", three_pass, BLOCK, within=(40, 45), rule=BREAKER)
    two_pass = [entry("read_file", {"path": f"f{n % 15}"}, f"text {n % 15}") for n in range(30)]
    yield trace("two-passes-over-fifteen", two_pass, HINT)
    two_pass = [entry("lint", {"path": f"f{n % 20}"}, "clean") for n in range(40)]
    yield trace("two-passes-of-lint", two_pass, HINT)
