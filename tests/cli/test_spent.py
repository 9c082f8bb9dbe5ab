"""`stoic spent` and the bounds of the configuration file as real processes."""

import json

from stoic.testing import ScriptedProvider

DAY = "[limits.day]\nrounds = 5\n"


def configured(bench, text: str) -> dict[str, str]:
    path = bench.folder / "bounds.toml"
    path.write_text(text)
    return {"STOIC_CONFIG": str(path)}


def spent(bench, *arguments: str) -> list[dict]:
    return [json.loads(line) for line in bench.stoic("spent", *arguments, "--json").stdout.splitlines()]


def test_nothing_was_spent_yet(bench):
    done = bench.stoic("spent")
    assert (done.returncode, done.stdout) == (0, "")
    assert "there is no log yet" in done.stderr or done.stderr


def test_what_threads_took_is_shown_by_day_also_of_deleted_ones(bench):
    with ScriptedProvider({"default": ["text:ok", "stop"]}) as provider:
        for thread in ("a", "a", "b"):
            assert bench.stoic(*bench.working(provider, "hello", "--thread", thread)).returncode == 0
    rows = {row["thread"]: row for row in spent(bench)}
    assert {name: row["rounds"] for name, row in rows.items()} == {"a": 2, "b": 1}
    assert all(row["tokens"] > 0 for row in rows.values())
    assert bench.stoic("threads", "delete", "b", "--yes").returncode == 0
    assert {row["thread"]: row["rounds"] for row in spent(bench)} == {"a": 2, None: 1}
    assert [row["thread"] for row in spent(bench, "--thread", "a")] == ["a"]
    lines = bench.stoic("spent", "--days", "1").stdout.splitlines()
    assert [line.split()[0] for line in lines][-1] == "together"
    assert any(line.endswith("(deleted threads)") for line in lines)


def test_a_day_that_is_used_up_stops_every_thread_and_is_told_before_and_then(bench):
    environment = configured(bench, DAY)
    with ScriptedProvider({"default": ["text:ok", "stop"]}) as provider:
        codes = [
            bench.stoic(*bench.working(provider, "hello", "--thread", f"t{number}"), **environment).returncode
            for number in range(5)
        ]
        assert codes == [0] * 5
        stopped = bench.stoic(*bench.working(provider, "hello", "--thread", "t6"), **environment)
        assert len(provider.requests) == 5
    assert stopped.returncode == 6
    assert "after 5 rounds today (UTC), the limit being 5 (per_day.rounds)" in stopped.stderr + stopped.stdout
    kinds = [
        json.loads(line)["key"].split(":")[0] for line in bench.stoic("notices", "--all", "--json").stdout.splitlines()
    ]
    assert sorted(kinds) == ["budget_near", "budget_reached"]
    assert "5 of 5 rounds are used today (UTC), by all threads" in bench.stoic("spent", **environment).stdout


def test_a_bound_that_cannot_be_is_one_clear_line(bench):
    for text, said in (
        ("[limits.day]\ncost = 5\n", "limits.day.cost is no key of the configuration; did you mean cost_usd?"),
        ("[limits.thread]\ntokens = 0\n", "limits.thread.tokens is 0; it must be above 0"),
        ('[limits.day]\nrounds = "5"\n', "limits.day.rounds: Expected `int | null`, got `str`"),
        ("[limits]\nday = 5\n", "limits.day: Expected `object`, got `int`"),
    ):
        done = bench.stoic("spent", **configured(bench, text))
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_model_without_a_price_beside_a_bound_on_cost_is_said(bench):
    with ScriptedProvider({"default": ["text:ok", "stop"]}) as provider:
        done = bench.stoic(*bench.working(provider, "hello"), **configured(bench, "[limits.day]\ncost_usd = 5\n"))
    assert done.returncode == 0
    assert "no price of openai-chat:m is known: the bounds on cost_usd do not count it" in done.stderr
