"""The same check after each change: excused when something changed, a loop when nothing did."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.core.loops.variants.building import HINT, LOOP, QUIET, Trace, entry, failed, rounds, trace

Make = Callable[[int], dict[str, Any]]

CHANGES: dict[str, Make] = {
    "edit": lambda n: entry("edit_file", {"path": "a.py", "old": f"a{n}", "new": f"b{n}"}, "ok"),
    "claude": lambda n: entry(
        "Edit", {"file_path": "a.py", "old_string": f"a{n}", "new_string": "b"}, "The file a.py has been updated."
    ),
    "multi": lambda n: entry("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": f"a{n}"}]}, "Applied 1 edit"),
    "notebook": lambda n: entry("NotebookEdit", {"cell_id": "c", "new_source": f"x = {n}"}, "Updated cell"),
    "str-replace": lambda n: entry(
        "str_replace_editor", {"command": "str_replace", "path": "a.py", "old_str": f"a{n}", "new_str": "b"}, "edited"
    ),
    "str-replace-tool": lambda n: entry(
        "str_replace_based_edit_tool",
        {"command": "str_replace", "path": "a", "old_str": f"a{n}", "new_str": "b"},
        "edited",
    ),
    "patch": lambda n: entry("apply_patch", {"input": f"*** Begin Patch\n+{n}\n*** End Patch"}, "Success"),
    "camel": lambda n: entry("replaceInFile", {"path": "a.py", "diff": f"+{n}"}, "saved"),
    "cline": lambda n: entry("write_to_file", {"path": "a.py", "content": f"x = {n}"}, "saved"),
    "mcp": lambda n: entry("mcp__filesystem__edit_file", {"path": "a.py", "edits": [{"oldText": f"a{n}"}]}, "ok"),
    "sed": lambda n: entry("bash", {"command": f"sed -i 's/{n}/{n + 1}/' a.py"}, ""),
    "heredoc": lambda n: entry("bash", {"command": f"cat > a.py <<'EOF'\nx = {n}\nEOF"}, ""),
    "cd-sed": lambda n: entry("bash", {"command": f"cd /w && sed -i 's/{n}/x/' a.py"}, ""),
    "tee": lambda n: entry("bash", {"command": f"echo 'x = {n}' | tee a.py"}, f"x = {n}"),
    "redirect": lambda n: entry("shell", {"cmd": f"echo 'x = {n}' > a.py"}, ""),
    "python-write": lambda n: entry(
        "bash", {"command": f"python - <<'EOF'\nopen('a.py', 'w').write('x = {n}')\nEOF"}, ""
    ),
    "perl": lambda n: entry("bash", {"command": f"perl -pi -e 's/{n}/x/' a.py"}, ""),
    "git-apply": lambda n: entry("bash", {"command": f"git apply fix{n}.patch"}, ""),
    "pip": lambda n: entry("bash", {"command": f"pip install lib=={n}"}, f"Successfully installed lib-{n}"),
    "german": lambda n: entry("datei_bearbeiten", {"pfad": "a.py", "neu": f"x{n}"}, "gespeichert"),
    "chinese": lambda n: entry("编辑文件", {"路径": "a.py", "内容": f"x{n}"}, "已保存"),
    "set-config": lambda n: entry("set_config", {"key": "k", "value": n}, "ok"),
    "sql-update": lambda n: entry("execute_sql", {"sql": f"alter table t set (fillfactor = {n})"}, "1 row"),
    "browser-fill": lambda n: entry("browser_type", {"ref": "e1", "text": f"x{n}"}, "typed"),
}

CHECKS: dict[str, Make] = {
    "pytest": lambda n: failed("bash", {"command": "pytest -q"}, "1 failed"),
    "timed": lambda n: failed("Bash", {"command": "npm test"}, f"1 failing ({n + 30}ms)"),
    "tool": lambda n: failed("run_tests", {}, {"failed": 1}),
    "diagnostics": lambda n: entry("mcp__ide__getDiagnostics", {}, [{"message": "Type error"}]),
}


def traces() -> Iterator[Trace]:
    checks = list(CHECKS.items())
    for number, (name, change) in enumerate(CHANGES.items()):
        check_name, check = checks[number % len(checks)]
        yield trace(f"rerun-after-{name}-{check_name}", rounds(40, change, check), HINT)
        yield trace(f"rerun-short-{name}-{check_name}", rounds(7, change, check), QUIET)
    for name, check in checks:
        yield trace(f"rerun-each-check-{name}", rounds(40, CHANGES["edit"], check), HINT)

    two = rounds(
        25, CHANGES["claude"], CHECKS["pytest"], lambda n: entry("Bash", {"command": "git status"}, "modified: a.py")
    )
    yield trace("rerun-two-checks-after-each-edit", two, HINT)
    read_first = rounds(
        30, lambda n: entry("Read", {"file_path": "a.py"}, f"x = {n}"), CHANGES["claude"], CHECKS["timed"]
    )
    yield trace("read-edit-test", read_first, HINT)
    commits = rounds(
        35,
        CHANGES["claude"],
        lambda n: entry("Bash", {"command": "git commit -am wip"}, f"[main {n + 0xABC000:x}] wip\n 1 file changed"),
    )
    yield trace("commit-after-each-edit", commits, HINT)
    builds = rounds(35, CHANGES["edit"], lambda n: failed("bash", {"command": "make"}, f"a.c:{n + 3}: error: x"))
    yield trace("build-error-moves", builds, HINT)
    looks = rounds(35, CHANGES["edit"], lambda n: entry("browser_screenshot", {"page": "/"}, "blank page"))
    yield trace("look-after-each-edit", looks, HINT)

    rejected = {
        "flagged": lambda n: failed("edit_file", {"path": "a.py", "old": f"nope{n}", "new": "x"}, "old text not found"),
        "claude": lambda n: failed(
            "Edit",
            {"file_path": "a.py", "old_string": f"n{n}", "new_string": "x"},
            "<tool_use_error>String to replace not found in file.</tool_use_error>",
        ),
        "unflagged": lambda n: entry(
            "str_replace",
            {"path": "a.py", "old_str": f"n{n}", "new_str": "x"},
            "Error: No replacement was performed, old_str did not appear verbatim",
        ),
        "patch": lambda n: failed("apply_patch", {"patch": f"@@ {n}"}, "hunk does not apply"),
        "sed-fails": lambda n: failed(
            "bash", {"command": f"sed -i 's/{n}/x/' b.py"}, "sed: can't read b.py: No such file or directory"
        ),
    }
    for name, edit in rejected.items():
        yield trace(f"rejected-edit-{name}", rounds(33, edit, CHECKS["pytest"]), LOOP, within=(20, 66))
    same_edit = rounds(33, lambda n: entry("write_file", {"path": "a.py", "content": "x"}, "ok"), CHECKS["pytest"])
    yield trace("same-write-again", same_edit, LOOP, within=(10, 66))
    toggled = rounds(
        33,
        lambda n: entry("edit_file", {"path": "a.py", "old": "xy"[n % 2], "new": "yx"[n % 2]}, "ok"),
        CHECKS["pytest"],
    )
    yield trace("toggled-edit-and-test", toggled, LOOP, within=(10, 66))
    reads = rounds(33, lambda n: entry("bash", {"command": f"cat f{n}.py"}, f"f{n}"), CHECKS["pytest"])
    yield trace("reads-excuse-no-rerun", reads, LOOP, within=(10, 66))
