"""The pages on notices say what the code says, and their examples work."""

import re
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.channels.hooks import Hooks
from tests.channels.test_webhook import NOTICE, SECRET, deliver

from stoic.channels.webhook import TIMEOUT_MS, PostedNotice
from stoic.configuration import read_configuration
from stoic.core.notice_forms import BUDGET_PER_DAY, FORMS
from stoic.core.refusal import duration, rule
from stoic.runtime.notices import CLAIM_MS, RETRY_WAITS_MS

DOCS = Path(__file__).parents[2] / "docs"
HOW_TO = (DOCS / "how-to" / "be-told.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "reference" / "notices.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", HOW_TO, re.DOTALL)
    return found


def section(form) -> str:
    """Return a notice as the reference has it."""
    actions = "\n".join(f"- `{action}`" for action in form.actions)
    return f"### `{form.key}`\n\n{form.priority}: {form.when}.\n\n> {form.text}\n\n{actions}\n"


def test_the_reference_lists_every_notice_as_the_code_builds_it_in_its_order():
    assert REFERENCE.endswith("\n".join(section(form) for form in FORMS.values()))


def test_the_reference_states_the_rule_of_refusals_in_the_words_of_the_code():
    assert f"> {rule()}" in REFERENCE


def test_the_example_of_the_file_is_one(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(block("toml"), encoding="utf-8")
    found = read_configuration({"STOIC_CONFIG": str(path)}).notices
    assert found.budget_per_day == BUDGET_PER_DAY
    assert [each.type for each in found.channels] == ["webhook", "apprise"]


def test_the_example_receiver_takes_a_real_request_once_and_no_forged_or_old_one():
    space: dict[str, Any] = {}
    exec(compile(block("python"), "be-told.md", "exec"), space)  # noqa: S102 - our own page
    with Hooks(204) as hooks:
        _, clock = deliver(hooks.url, replace(NOTICE, key="k"))
    space["time"] = clock_at(clock.now_ms())
    (posted,) = hooks.posted
    seen = set[str]()
    assert space["receive"](posted.headers, posted.body + b" ", SECRET, seen) is None
    assert space["receive"](posted.headers, posted.body, "other", seen) is None
    assert space["receive"](posted.headers, posted.body, SECRET, seen)["key"] == "k"
    assert space["receive"](posted.headers, posted.body, SECRET, seen) is None
    space["time"] = clock_at(clock.now_ms() + 301_000)
    assert space["receive"](posted.headers, posted.body, SECRET, set()) is None


def clock_at(now_ms: int) -> object:
    """Return what the example takes for the module `time`."""
    return type("Time", (), {"time": staticmethod(lambda: now_ms / 1000)})


def test_the_how_to_states_the_numbers_of_the_code():
    waits = [duration(wait) for wait in RETRY_WAITS_MS]
    assert f"after {waits[0]}, {waits[1]} and {waits[2]}, then given up" in " ".join(HOW_TO.split())
    assert f"At most {BUDGET_PER_DAY} normal notices" in HOW_TO
    assert f"within {TIMEOUT_MS // 1000} s is an arrival" in HOW_TO
    assert CLAIM_MS == 60_000
    assert "sent again, a minute later" in HOW_TO
    fields = " ".join(HOW_TO.split()).partition("The body has ")[2].partition(".")[0]
    assert re.findall(r"`(\w+)`", fields) == list(PostedNotice.__struct_fields__)
