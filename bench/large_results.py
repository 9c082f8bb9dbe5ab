"""Results of 100 KB as the tools of agents return them: the same ones each time."""

import json
import random  # noqa: TID251  # seeded: the same texts each time
from pathlib import Path

BYTES = 100_000
FOLDER = Path(__file__).parents[1] / "src" / "stoic"
READ = ("read_file", "path")
SHELL = ("bash", "command")


def large_results():
    """Return by name the tool with its argument's name, what that says, the result, and whether it is an error."""
    chance = random.Random(1)
    paths = sorted(FOLDER.rglob("*.py"))
    files = {str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8") for path in paths}
    source = "".join(files.values())
    lines = source.split("\n")
    tests = [f"tests/test_{n % 40}.py::test_case_{n}" for n in range(3000)]
    read = {
        "source": cut(source),
        "source as cat -n shows it": cut(numbered(lines)),
        "source with arrows after its numbers": cut("\n".join(f"{n:5}→{line}" for n, line in enumerate(lines, 1))),
        "source with colons after its numbers": cut("\n".join(f"{n}: {line}" for n, line in enumerate(lines, 1))),
        "log": cut(log()),
        "log with random ids": cut(traced(chance)),
        "one line of source": cut(source.replace("\n", " ")),
        "one word": "x" * BYTES,
        "JSON": json.dumps(people()),
        "JSON with times": json.dumps(stamped()),
        "JSON with one long text": json.dumps({"stdout": cut(source)[:90_000]}),
        "JSON with numbered source": json.dumps({"content": cut(numbered(lines))[:90_000]}),
        "CSV with times": cut(readings(chance)),
        "HTML": cut(page()),
        "Chinese": cut(chinese(chance)),
        "bytes": cut("".join(map(chr, chance.choices(range(256), k=BYTES)))),
    }
    shell = {
        "grep -rn self src": cut(
            "\n".join(f"src/{name}:{n}:{line}" for name, text in files.items() for n, line in matching(text))
        ),
        "make -j8": cut(build(chance)),
        "pytest -q": cut("".join(f"{test} PASSED [{n % 100:3}%]\n" for n, test in enumerate(tests))),
        "pytest -vv": cut(
            "".join(f"{test} PASSED [{n // 30:3}%] ({chance.random():.2f}s)\n" for n, test in enumerate(tests))
        ),
        "pytest --durations=0": cut(
            "".join(
                f"{chance.random():.2f}s {('call', 'setup', 'teardown')[n % 3]:8} {test}\n"
                for n, test in enumerate(tests)
            )
        ),
        "npm ci": cut(npm(chance)),
        "cargo test": cut(cargo(chance)),
        "ls -l": cut(listed(chance)),
        "git diff": cut(difference(files)),
    }
    return {
        **{name: (*READ, name, text, False) for name, text in read.items()},
        **{name: (*SHELL, name, text, False) for name, text in shell.items()},
        "make -j8, failed": (*SHELL, "make -j8", shell["make -j8"] + "\nmake: *** [all] Error 2", True),
    }


def cut(text):
    """Return the first 100 KB of a text."""
    return text.encode()[:BYTES].decode(errors="ignore")


def numbered(lines):
    return "\n".join(f"{n:6}\t{line}" for n, line in enumerate(lines, 1))


def matching(text):
    return [(n, line) for n, line in enumerate(text.split("\n"), 1) if "self" in line or "return" in line]


def log():
    return "".join(
        f"2026-03-04T10:{n // 60 % 60:02}:{n % 60:02}.123Z INFO worker: request_id=ab{n:06x} "
        f"handled GET /api/v1/items/{n} in {n % 90}ms status=200 pid={1000 + n}\n"
        for n in range(1200)
    )


def traced(chance):
    return "".join(
        f"2026-05-01 10:00:{n % 60:02} INFO [{chance.getrandbits(128):032x}] request {n} took {n % 50}ms\n"
        for n in range(1500)
    )


def people():
    return [{"id": n, "name": f"user {n}", "mail": f"u{n}@x.example", "on": True, "rate": n / 7} for n in range(950)]


def stamped():
    return [{"timestamp": f"2026-05-01T10:{n % 60:02}:00Z", "elapsed_ms": n, "text": f"row {n}"} for n in range(1150)]


def chinese(chance):
    han = "".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(30_000))
    return "\n".join(f"第 {n} 行 {han[n * 20 : n * 20 + 20]}" for n in range(1500))


def readings(chance):
    return "time,sensor,value,unit\n" + "".join(
        f"2026-05-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z,s{n % 12},{chance.random() * 40:.3f},C\n"
        for n in range(3500)
    )


def page():
    return "<!DOCTYPE html>\n<html><body><table>\n" + "".join(
        f'<tr class="row"><td><a href="/items/{n}">Item {n}</a></td><td data-time="{n % 24}:00">{n * 3} EUR</td></tr>\n'
        for n in range(1200)
    )


def build(chance):
    return "".join(
        f"[{n}/2000] Compiling src/part_{n % 70}/file_{n}.c ... done in {chance.random() * 9:.2f}s\n"
        for n in range(2000)
    )


def npm(chance):
    return "".join(
        f"npm http fetch GET 200 https://packages.example/pack-{n}/-/pack-{n}-{n % 9}.{n % 7}.0.tgz "
        f"{chance.randrange(2000)}ms (cache miss)\n"
        for n in range(1200)
    )


def cargo(chance):
    return (
        "".join(
            f"   Compiling crate_{n} v{n % 3}.{n % 40}.{n % 11}\n"
            if n % 3
            else f"test part_{n % 17}::tests::case_{n} ... ok <{chance.random():.3f}s>\n"
            for n in range(2600)
        )
        + "    Finished `dev` profile in 41.20s\n"
    )


def listed(chance):
    return "total 4120\n" + "".join(
        f"-rw-r--r-- 1 user user {chance.randrange(99_999):6} {('Jan', 'May', 'Dec')[n % 3]} {n % 28 + 1:2} "
        f"{n % 24:02}:{n % 60:02} file_{n}.py\n"
        for n in range(1800)
    )


def difference(files):
    return "".join(
        f"diff --git a/src/{name} b/src/{name}\nindex {n:07x}..{n * 7919 % 2**28:07x} 100644\n--- a/src/{name}\n"
        f"+++ b/src/{name}\n@@ -{n},12 +{n},14 @@\n"
        + "\n".join(f"{'+- '[place % 3]}{line}" for place, line in enumerate(text.split("\n")))
        for n, (name, text) in enumerate(files.items())
    )
