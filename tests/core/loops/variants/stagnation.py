"""Different calls with one answer: a hint where another answer is possible, a block where the door is shut."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.core.loops.variants.building import (
    BLOCK,
    HINT,
    LOOP,
    WARN,
    Trace,
    entry,
    failed,
    repeated,
    trace,
)

Make = Callable[[int], dict[str, Any]]

SHUT: dict[str, Make] = {
    "ssh-keys": lambda n: failed(
        "bash", {"command": f"ssh -i key{n} root@h.example true"}, "Permission denied (publickey)."
    ),
    "scp-port": lambda n: failed(
        "shell", {"cmd": f"scp -P {22 + n} f h.example:/x"}, "Permission denied (publickey,password)."
    ),
    "host-403": lambda n: failed(
        "WebFetch", {"url": f"https://h.example/p/{n}", "prompt": "x"}, "Request failed with status code 403"
    ),
    "host-401": lambda n: failed(
        "http_request",
        {"method": "GET", "url": f"https://api.h.example/v1/{n}"},
        {"status": 401, "error": "Unauthorized"},
    ),
    "host-403-query": lambda n: failed("fetchUrl", {"url": f"https://h.example/?q={n}"}, "HTTP 403: Forbidden"),
    "github-401": lambda n: failed("github_api", {"path": f"/repos/o/r{n}"}, "401 Bad credentials"),
    "mcp-scope": lambda n: failed(
        "mcp__gmail__search", {"q": f"from:{n}"}, "403 Request had insufficient authentication scopes."
    ),
    "sql-table": lambda n: failed("sql_query", {"sql": f"table users limit {n}"}, "permission denied for table users"),
    "bucket": lambda n: failed("s3_get_object", {"bucket": "b", "key": f"k{n}"}, "AccessDenied: Access Denied"),
    "quota": lambda n: failed("generate_image", {"prompt": f"a cat {n}"}, "429 You exceeded your current quota"),
    "quota-object": lambda n: failed(
        "translate", {"text": f"t{n}"}, {"error": {"code": "insufficient_quota", "message": "quota exceeded"}}
    ),
    "account-suspended": lambda n: failed("crm_search", {"q": f"n{n}"}, "403: account suspended, access denied"),
}

# One question asked in ever new words; the answer stands.
RESHUFFLED: dict[str, Make] = {
    "alternatives": lambda n: entry("Grep", {"path": "a.go", "pattern": f"open|close|k{n}"}, "3: func open()"),
    "flags": lambda n: entry("bash", {"command": f"grep -n -m{n + 1} open a.go"}, "3: func open()"),
    "head": lambda n: entry("shell", {"command": f"cat /proc/1/x | head -{n}"}, "none"),
    "web": lambda n: entry("web_search", {"query": f"loop guard {n} site"}, "1. same page"),
    "sql": lambda n: entry("mcp__db__read_query", {"query": f"table t limit {n}"}, "[]"),
    "ask": lambda n: entry("search_docs", {"question": f"how {n}"}, "no answer"),
}

# Guessing: each may be the one, so never more than a hint, however long.
GUESSED: dict[str, Make] = {
    "ids": lambda n: failed("issues_get", {"id": 100 + n}, "404 Not Found"),
    "uuid-users": lambda n: failed("getUser", {"id": f"u-{n}"}, "user not found"),
    "paths": lambda n: failed("read_file", {"path": f"/w/p{n}.txt"}, "No such file or directory"),
    "commands": lambda n: failed("bash", {"command": f"which tool{n}"}, ""),
    "urls": lambda n: failed("fetch", {"url": f"https://h.example/{n}"}, "404"),
    "hosts": lambda n: failed("http_get", {"url": f"https://h{n}.example/"}, "timed out"),
    "hosts-403": lambda n: failed("http_get", {"url": f"https://h{n}.example/"}, "403 Forbidden"),
    "validation": lambda n: failed("create_item", {"size": n}, "invalid value for size"),
    "ports": lambda n: entry("check_port", {"port": 8000 + n}, "closed"),
    "domains": lambda n: entry("check_domain", {"name": f"d{n}"}, "taken"),
    "primes": lambda n: entry("is_prime", {"n": 2 * n + 4}, False),
    "counts": lambda n: entry("fits", {"count": n}, "yes"),
    "sizes": lambda n: entry("checkSize", {"size": n}, "fits"),
    "seeds": lambda n: entry("fuzz_once", {"seed": n}, "pass"),
    "seats": lambda n: entry("seat_available", {"row": n // 6, "seat": n % 6}, False),
    "days": lambda n: entry("get_slots", {"date": f"2026-05-{n % 31 + 1:02d}"}, []),
    "tokens": lambda n: entry("verify_token", {"token": f"t{n:08d}"}, "invalid"),
    "timestamps": lambda n: entry("get_price", {"symbol": "X", "timestamp": 1770000000 + n * 60}, "no trade"),
    "requests": lambda n: entry("get_request", {"request_id": f"r{n}"}, "pending approval"),
    "trace-ids": lambda n: entry("get_trace", {"trace_id": f"{n:032x}"}, "no spans"),
    "cells": lambda n: entry("get_cell", {"row": n, "column": "A"}, ""),
    "frames": lambda n: entry("detect_face", {"frame": n}, "none"),
    "addresses": lambda n: entry("read_memory", {"address": f"0x7f00{n:04x}"}, "00 00"),
    "versions": lambda n: entry("get_changelog", {"version": f"1.{n}"}, "no changes"),
    "health-by-port": lambda n: entry("bash", {"command": f"curl -s http://localhost:{53000 + n}/health"}, "ok"),
    "depths": lambda n: entry("solve", {"depth": n}, "no solution"),
    "membership-german": lambda n: entry("verzeichnis_suche", {"name": f"n{n}"}, "[]"),
    "membership-mcp": lambda n: entry("mcp__ldap__search", {"filter": {"uid": f"u{n}"}}, {"entries": []}),
    "nested-lists": lambda n: entry("lookup", {"keys": [{"k": [n]}]}, None),
    "missing-program": lambda n: failed(
        "exec", {"command": f"convert in{n}.png out{n}.webp"}, "tool ffmpeg not found on PATH"
    ),
    "command-not-found": lambda n: failed("Bash", {"command": f"foo in{n}"}, "bash: foo: command not found"),
}

# What a text tells of denials is not a denial of the call.
TOLD: dict[str, Make] = {
    "search-hits": lambda n: entry(
        "web_search", {"query": f"nginx {n}"}, "Why do I get 403 Forbidden? Permission denied explained"
    ),
    "log-lines": lambda n: entry("grep_logs", {"pattern": f"user{n}"}, "10:00 access denied for root"),
    "find-noise": lambda n: entry("bash", {"command": f"find / -name x{n}"}, "find: '/root': Permission denied"),
    "documents": lambda n: entry("read_file", {"path": f"docs/{n}.md"}, "401 Unauthorized means: log in"),
}


def traces() -> Iterator[Trace]:
    for name, make in SHUT.items():
        yield trace(f"shut-{name}", repeated(make, 24), LOOP, within=(10, 22))
        yield trace(f"shut-warned-{name}", repeated(make, 14), LOOP, within=(10, 12))
    for name, make in RESHUFFLED.items():
        yield trace(f"reshuffled-{name}", repeated(make, 16), WARN, within=(6, 14))
    for name, make in GUESSED.items():
        yield trace(f"guessed-{name}", repeated(make, 45), HINT)
    for name, make in TOLD.items():
        yield trace(f"told-{name}", repeated(make, 45), HINT)

    beyond = repeated(
        lambda n: entry("Read", {"file_path": "t.jsonl", "offset": 900 + n, "limit": 50}, "<file is shorter>"), 34
    )
    yield trace("beyond-end-each-offset", beyond, BLOCK, within=(20, 34))
    beyond = repeated(lambda n: entry("view_file", {"path": "t", "view_range": [900 + n, 950 + n]}, ""), 34)
    yield trace("beyond-end-view-range", beyond, LOOP)
    beyond = repeated(lambda n: entry("list_commits", {"repo": "r", "page": 50 + n % 4}, []), 36)
    yield trace("beyond-last-page", beyond, BLOCK, within=(20, 36))
    fenced = repeated(
        lambda n: failed("view", {"path": "/etc/x", "limit": 20 + n}, "path is outside the allowed directories"), 34
    )
    yield trace("outside-varied-limit", fenced, BLOCK, within=(10, 34))
    notes = [
        entry("note_add", {"text": f"n{n}"})
        if n % 3 == 2
        else entry("bash", {"command": f"tail -{n + 1} /proc/x"}, "empty")
        for n in range(36)
    ]
    yield trace("stagnant-between-notes", notes, LOOP)
    thoughts = [
        entry("think", {"thought": f"hm {n}"}, "") if n % 2 else entry("grep", {"pattern": f"a{n}"}, "no matches")
        for n in range(40)
    ]
    yield trace("stagnant-between-thoughts", thoughts, LOOP)
