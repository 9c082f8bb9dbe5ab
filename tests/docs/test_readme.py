"""What README says is run, and what it points to exists."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from stoic.testing import ScriptedProvider

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_and_goes_on_where_it_was(tmp_path: Path):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(example.strip().splitlines()) <= 20
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    shutil.copy(ROOT / "README.md", tmp_path)
    script = [
        ['tool:word_count({"path": "README.md"})', "stop"],
        ["text:Long enough.", "stop"],
        ["text:As I said.", "stop"],
    ]
    with ScriptedProvider(script) as provider:
        environment = os.environ | {
            "OPENAI_BASE_URL": provider.base_url,
            "OPENAI_API_KEY": "sk-test",
            "STOIC_DB": str(tmp_path / "stoic.db"),
        }
        said = [
            subprocess.run(
                [sys.executable, "example.py"],
                cwd=tmp_path,
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            for _ in range(2)
        ]
        words = str(len(README.split()))
        assert said == ["completed: Long enough.\n", "completed: As I said.\n"]
        assert words in provider.requests[1].body.decode()
        assert provider.requests[2].body.startswith(provider.requests[1].body[:-2])


def test_decision_numbers_are_unique():
    numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md")]
    assert len(numbers) == len(set(numbers))


def test_every_dependency_has_a_row_in_the_first_decision():
    table = (ROOT / "docs" / "decisions" / "0001-dependencies.md").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    needed = re.search(r"^dependencies = \[(.*?)\]", project, re.DOTALL | re.MULTILINE)
    assert needed
    for name in re.findall(r'"([a-z0-9-]+)', needed.group(1)):
        assert name in table, f"{name} has no row"
