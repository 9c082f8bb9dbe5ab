"""Who may reset a count, texts, unknown tools, vetoes and equal calls at once."""

from collections.abc import Iterator

from tests.core.loops.variants.building import (
    BLOCK,
    BREAKER,
    HINT,
    LOOP,
    QUIET,
    WARN,
    Trace,
    entry,
    event,
    failed,
    repeated,
    said,
    trace,
)

READS = {
    "snake": entry("read_file", {"path": "/w/a"}, "same"),
    "camel": entry("readFile", {"filePath": "/w/a"}, {"text": "same"}),
    "mcp": entry("mcp__fs__read_text_file", {"path": "/w/a"}, [{"type": "text", "text": "same"}]),
    "shell": entry("bash", {"command": "cat /w/a"}, "same"),
    "spanish": entry("leer_archivo", {"ruta": "/w/a"}, "igual"),
    "failing": failed("Read", {"file_path": "/w/a"}, "File does not exist."),
}


def spread(one, count, every, between):
    """Return `count` entries with an event after each `every` of them."""
    return [step for n in range(1, count + 1) for step in ((one, between) if n % every == 0 else (one,))]


def resets() -> Iterator[Trace]:
    for name, one in READS.items():
        yield trace(f"plain-thirty-{name}", [one] * 33, BLOCK, within=(30, 32), rule=BREAKER)
        yield trace(f"plain-twenty-nine-{name}", [one] * 29, WARN, within=(9, 11), rule="repeat")
        yield trace(f"plain-eight-{name}", [one] * 8, QUIET)
        yield trace(f"nudged-{name}", spread(one, 36, 5, event("nudge", text="go on")), BLOCK, within=(31, 42))
        yield trace(f"new-run-{name}", spread(one, 36, 7, event("new_run")), BLOCK, within=(31, 42))
        yield trace(f"compacted-{name}", spread(one, 44, 8, event("compaction")), BLOCK, within=(31, 50))
        yield trace(f"person-{name}", spread(one, 56, 28, event("user", text="go on")), HINT)
        yield trace(f"person-often-{name}", spread(one, 45, 5, event("user", text="go on")), QUIET)
        vetoed = {**one, "result": "blocked by loop guard", "error": True, "vetoed": True}
        yield trace(f"vetoed-{name}", [one] * 30 + [vetoed] * 6, BLOCK, within=(30, 32), rule=BREAKER)
        yield trace(f"vetoed-first-{name}", [one] * 4 + [vetoed] * 20 + [one] * 4, HINT)
        at_once = [{**one, "turn": 1} for _ in range(14)]
        yield trace(f"at-once-{name}", at_once, LOOP, within=(9, 12))
    new_task = spread(READS["snake"], 20, 10, event("new_task"))
    yield trace("new-task-between", new_task, HINT)
    reread = [entry("Read", {"file_path": f"f{n}"}, f"t{n}") for n in range(14)]
    yield trace("reread-after-compaction", [*reread, event("compaction"), *reread], QUIET)
    yield trace(
        "reread-after-person",
        [*reread, event("user", text="again"), *reread, event("user", text="again"), *reread],
        QUIET,
    )
    twice = [*reread, event("compaction"), *reread, event("compaction"), *reread]
    yield trace("reread-after-each-compaction", twice, HINT)
    mixed = []
    for n in range(48):
        mixed.append(READS["snake"])
        if n % 6 == 5:
            mixed.append(event(("nudge", "compaction", "new_run")[n // 6 % 3]))
    yield trace("all-our-events-between", mixed, BLOCK, within=(31, 56), rule=BREAKER)


def texts() -> Iterator[Trace]:
    announcements = {
        "plain": lambda n: "Let me check the file now.",
        "blanks": lambda n: "Let me  check the file now." + " " * (n % 3) + "\n" * (n % 2),
        "case": lambda n: ("Let me check the file now.", "let me check the file now", "LET ME CHECK THE FILE NOW!")[
            n % 3
        ],
        "attempt": lambda n: f"Attempt {n + 1}: let me check the file now.",
        "counted": lambda n: f"({n + 1}) I will write the schema.",
        "german": lambda n: "Ich schreibe jetzt das Schema.",
        "chinese": lambda n: "我现在写入文件。",
        "two-lines": lambda n: "I will do it.\n\nPlease hold on.",
        "markdown": lambda n: (
            "**Next step:** run the tests",
            "Next step: run the tests",
            "_Next step_: run the tests",
        )[n % 3],
    }
    for name, text in announcements.items():
        yield trace(f"text-{name}", [said(text(n)) for n in range(12)], LOOP, within=(3, 11))
    nudged = [one for _ in range(12) for one in (said("I'll do it now."), event("nudge", text="do it"))]
    yield trace("text-between-nudges", nudged, LOOP, within=(3, 22))
    pair = [said(("I'll write it.", "Now writing.")[n % 2]) for n in range(24)]
    yield trace("text-alternating", pair, LOOP)
    quiet = {
        "different": lambda n: f"Finished {'abcdefghijklmnop'[n]}, next comes {'bcdefghijklmnopq'[n]}.",
        "progress": lambda n: f"Processed {n} of 15 files.",
        "percent": lambda n: f"Upload at {n * 6} percent",
    }
    for name, text in quiet.items():
        yield trace(f"text-quiet-{name}", [said(text(n)) for n in range(15)], QUIET)
    talk = [
        one for n in range(15) for one in (said("Let me continue."), entry("Read", {"file_path": f"f{n}"}, f"t{n}"))
    ]
    yield trace("text-before-news", talk, QUIET)
    answered = [one for n in range(15) for one in (event("user", text=f"q{n}"), said("Done."))]
    yield trace("text-answers-a-person", answered, QUIET)
    edits = [
        one
        for n in range(15)
        for one in (said("Fixing the next one:"), entry("Edit", {"file_path": "a", "old_string": f"{n}"}, "ok"))
    ]
    yield trace("text-before-edits", edits, QUIET)
    twice = [said("Starting."), said("Starting."), entry("bash", {"command": "ls"}, "a")]
    yield trace("text-only-twice", twice, QUIET)


def unknown() -> Iterator[Trace]:
    def missing(tool, args):
        return failed(tool, args, f"Tool {tool} does not exist", unknown_tool=True)

    names = [
        "web_search",
        "WebSearch",
        "search_web",
        "browser.search",
        "mcp__web__search",
        "google",
        "suche",
        "搜索",
        "search",
        "find",
        "lookup",
        "query",
    ]
    yield trace(
        "unknown-many-names",
        [missing(names[n], {"q": n}) for n in range(12)],
        BLOCK,
        within=(10, 12),
        rule="unknown_tool",
    )
    yield trace(
        "unknown-one-name", [missing("exec", {"command": "ls"})] * 12, BLOCK, within=(10, 12), rule="unknown_tool"
    )
    yield trace(
        "unknown-empty-args",
        [missing("f" * (n + 1), {}) for n in range(12)],
        BLOCK,
        within=(10, 12),
        rule="unknown_tool",
    )
    talk = [one for n in range(12) for one in (said(f"Trying {'abcdefghijkl'[n]}."), missing("go", {"n": n}))]
    yield trace("unknown-with-talk", talk, BLOCK, within=(19, 24), rule="unknown_tool")
    nudged = [one for n in range(12) for one in (missing("go", {"n": n}), *([event("nudge")] if n % 4 == 3 else []))]
    yield trace("unknown-with-nudges", nudged, BLOCK, within=(10, 15), rule="unknown_tool")
    restarted = [one for n in range(12) for one in (missing("go", {"n": n}), *([event("new_run")] if n == 5 else []))]
    yield trace("unknown-over-restart", restarted, BLOCK, within=(10, 14), rule="unknown_tool")
    broken = [
        entry("ls", {"path": f"{n}"}, f"{n}") if n % 10 == 9 else missing(names[n % 10], {"n": n}) for n in range(40)
    ]
    yield trace("unknown-broken-by-known", broken, HINT)
    few = [
        missing("Bash", {"command": "ls"}),
        missing("shell", {"command": "ls"}),
        entry("bash", {"command": "ls"}, "a"),
    ]
    yield trace("unknown-then-found", few, QUIET)
    person = [
        one for n in range(18) for one in (missing("go", {"n": n}), *([event("user", text="no")] if n == 8 else []))
    ]
    yield trace("unknown-reset-by-person", person, HINT)
    words = repeated(lambda n: failed("run", {"script": f"s{n}"}, f"unknown tool: lib{n} not found"), 15)
    yield trace("unknown-only-in-words", words, HINT)


def traces() -> Iterator[Trace]:
    yield from resets()
    yield from texts()
    yield from unknown()
