"""Commands that stoic shows to people: pasted into a shell, each names what it is about, and runs nothing else."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.cli.background import inside
from tests.cli.processes import Bench
from tests.security.hostile import Hostile, answer

THREAD = "a thread'; touch pwned; $(touch pwned) \"&& touch pwned #"
MODEL = "m 1'; touch pwned; $(touch pwned) \"&& touch pwned #"
DENIED = answer('{"error":{"message":"no","code":"invalid_api_key"}}', "401 No")
COMMANDS = re.compile(
    r"(?:`|→ |^ +|; )(stoic (?:run|resume|show|health|switch|fresh|chat|tasks|schedule|approvals)\b[^`\n]*)",
    re.MULTILINE,
)
LOOKS = ["show", "health", "doctor", "notices", "notices --all", "threads"]


@pytest.fixture
def shown(bench: Bench) -> str:
    """Return everything that is shown of a thread of such a name which a model of such a name has failed."""
    with Hostile(DENIED) as server:
        where = ["--model", f"openai-chat:{MODEL}", "--base-url", server.url(), "--workspace", str(bench.workspace)]
        ran = [inside(bench, "run", "hi", "--thread", THREAD, *where) for _ in range(2)]
        ran += [inside(bench, "run", "--thread", THREAD, *where)]
        ran += [inside(bench, *(["show", THREAD] if line == "show" else line.split())) for line in LOOKS]
        assert inside(bench, "schedule", "add", THREAD, "every day at 09:00", "hi").returncode == 0
    return "\n".join(done.stdout + done.stderr for done in ran)


def test_a_pasted_command_names_what_it_is_about_and_runs_nothing_else(shown: str, tmp_path: Path):
    found = {each for each in COMMANDS.findall(shown) if "touch" in each}
    named = {next(word for word in shlex.split(command) if "touch" in word) for command in found}
    assert len(found) >= 3
    assert named == {THREAD, f"openai-chat:{MODEL}"}
    for command in found:
        script = f'stoic() {{ printf "%s\\n" "$@"; }}\n{command}'
        ran = subprocess.run(["/bin/sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.stderr == ""
        assert {THREAD, f"openai-chat:{MODEL}"} & {*ran.stdout.splitlines()}
    assert not (tmp_path / "pwned").exists()
