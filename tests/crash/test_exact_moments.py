"""A real `kill -9` at each exact moment of a tool's life: what runs again, and what the model and the journal are told."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from stoic.testing import RecordedRequest, ScriptedProvider

_ROOT = Path(__file__).parents[2]
READS = ("look", "look_in_thread", "dump", "fail")
WRITES = ("mark", "mark_in_thread")
ENDS = {
    "look": "seen 7",
    "look_in_thread": "seen 7",
    "dump": "seen 7 seen 7 ",
    "fail": "[runtime] fail raised ValueError: no 7",
    "mark": "seen 7",
    "mark_in_thread": "seen 7",
}


class Scene:
    """A database, what the tools left beside it, and a provider that asks for one call."""

    def __init__(self, folder: Path, provider: ScriptedProvider) -> None:
        self.folder = folder
        self.provider = provider

    def run(self, moment: str) -> subprocess.CompletedProcess[str]:
        arguments = [str(self.folder / "log.db"), self.provider.base_url, str(self.folder / "side"), moment]
        command = [sys.executable, "-m", "tests.crash.dying", *arguments]
        return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)

    def crash(self, moment: str) -> None:
        died = self.run(moment)
        assert died.returncode == -signal.SIGKILL, died.stderr

    def finish(self) -> None:
        ended = self.run("never")
        assert ended.returncode == 0, ended.stderr

    def side(self) -> Counter[str]:
        path = self.folder / "side"
        return Counter(path.read_text().splitlines() if path.exists() else [])

    def read(self, query: str) -> Any:
        """Return the one row that a query of the log has."""
        connection = apsw.Connection(str(self.folder / "log.db"), flags=apsw.SQLITE_OPEN_READONLY)
        (row,) = connection.execute(query).fetchall()
        connection.close()
        return row

    def result(self) -> str:
        """Return the text of the one result in the log."""
        (content,) = self.read("SELECT content FROM rows WHERE kind = 'result'")
        return msgspec.json.decode(content)["text"]

    def journal(self) -> tuple[str, int]:
        """Return state and runs of the one operation."""
        return self.read("SELECT state, runs FROM operations")


def play(folder: Path, tool: str, *moments: str) -> Scene:
    """Crash at each of the moments, then let a last process finish the turn."""

    def script(request: RecordedRequest) -> list[str]:
        called = any(message["role"] == "tool" for message in request.json["messages"])
        return ["text:Done.", "stop"] if called else [f'tool:{tool}({{"n":7}})', "stop"]

    with ScriptedProvider(script) as provider:
        scene = Scene(folder, provider)
        for moment in moments:
            scene.crash(moment)
        scene.finish()
        assert len(provider.requests) == 2
    return scene


@pytest.mark.parametrize("tool", [*READS, *WRITES])
def test_a_call_that_had_ended_does_not_run_again_and_its_result_is_known(tmp_path, tool: str):
    scene = play(tmp_path, tool, "before_result")
    assert scene.side() == {"started 7": 1, "ended 7": 1}
    assert scene.result().startswith(ENDS[tool])
    assert scene.journal() == ("raised" if tool == "fail" else "returned", 1)
    assert list((tmp_path / "log.db-ends").iterdir()) == []


@pytest.mark.parametrize("tool", READS[:2])
@pytest.mark.parametrize("moment", ["before_start", "in_call"])
def test_a_read_that_was_cut_off_runs_again(tmp_path, tool: str, moment: str):
    scene = play(tmp_path, tool, moment)
    assert scene.side() == {"started 7": 1 + (moment == "in_call"), "ended 7": 1}
    assert scene.result().startswith(ENDS[tool])
    assert scene.journal() == ("returned", 2)


@pytest.mark.parametrize("tool", WRITES)
@pytest.mark.parametrize("moment", ["before_start", "in_call"])
def test_a_write_that_was_cut_off_is_unknown_and_does_not_run_again(tmp_path, tool: str, moment: str):
    scene = play(tmp_path, tool, moment)
    assert scene.side() == ({"started 7": 1} if moment == "in_call" else {})
    assert "Effect unknown" in scene.result()
    assert scene.journal() == ("unknown", 1)


def test_a_read_that_ends_its_process_each_time_is_given_up(tmp_path):
    scene = play(tmp_path, "look", "in_call", "in_call", "in_call")
    assert scene.side() == {"started 7": 3}
    assert "The process ended 3 times while this call of look ran" in scene.result()
    assert scene.journal() == ("raised", 3)
