"""Real processes, killed at moments that a seed chooses: by lines they have written or requests they have sent."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import apsw
import msgspec

from stoic.testing import RecordedRequest, ScriptedProvider
from stoic.testing.simulation import Dice

KILLS = int(os.environ.get("STOIC_CRASH_KILLS", "30"))
"""How many processes are killed; each takes about a second. `just crash 100` kills more."""
THREADS = 20
_DRIVER = Path(__file__).parent / "driver.py"


class Model:
    """Answers by what the conversation holds; kills the process that asked at a chosen request."""

    def __init__(self) -> None:
        self.requests = 0
        self.victim: int | None = None
        self.kill_at: int | None = None
        self._marks = 0
        self._spoilt: set[bytes] = set()

    def __call__(self, request: RecordedRequest) -> object:
        self.requests += 1
        if self.victim is not None and self.requests == self.kill_at:
            os.kill(self.victim, signal.SIGKILL)
        if self.requests % 11 == 0 and self._spoils(request):
            return "wire:openai-503-overloaded"
        if self.requests % 13 == 0 and self._spoils(request):
            return ["text:Half an ans", "half_tool:mark({", "cut"]
        if request.json["messages"][-1]["role"] == "tool":
            return ["text:All marked.", "stop"]
        # Each mark is asked for once in the whole life of the provider, so one line a mark is the most there can be.
        self._marks += 2
        calls = [f'tool:mark({{"n":{self._marks - back}}})' for back in (1, 0)]
        return [*calls, f'tool:look({{"n":{self._marks}}})', "stop"]

    def _spoils(self, request: RecordedRequest) -> bool:
        """Spoil a request once at the most: a round that fails four times would end its turn, which is another story."""
        spoils = request.body not in self._spoilt
        self._spoilt.add(request.body)
        return spoils


class Scene:
    """The files that outlive the processes, and what the processes said."""

    def __init__(self, folder: Path, provider: ScriptedProvider, model: Model, dice: Dice) -> None:
        self.database = folder / "log.db"
        self.side_file = folder / "side"
        self.provider = provider
        self.model = model
        self.dice = dice
        self.committed: set[str] = set()
        self.finished: dict[str, str] = {}
        self.spoke = 0

    def start(self, mode: str) -> subprocess.Popen[str]:
        arguments = [str(self.database), self.provider.base_url, str(self.side_file), mode]
        return subprocess.Popen(
            [sys.executable, str(_DRIVER), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def take(self, line: str) -> None:
        """Take in what a process said before it died."""
        what, *words = line.split()
        if what == "commit":
            self.committed.update(words)
        elif what == "finished":
            self.finished[words[0]] = words[1]

    def kill_once(self) -> None:
        """Start a process, kill it at a moment that the dice choose, and hear what it said until then."""
        by_request = self.dice.chance(50)
        lines_left = 1 + self.dice.below(150)
        process = self.start("work")
        if by_request:
            self.model.kill_at = self.model.requests + 1 + self.dice.below(60)
            self.model.victim = process.pid
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            self.take(line)
            self.spoke += 1
            lines_left -= 1
            if not by_request and lines_left == 0:
                process.kill()
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
        self.model.victim = None
        process.stderr.close()
        process.stdout.close()

    def finish(self) -> None:
        """Let a last process bring everything to its end."""
        process = self.start("finish")
        said, complaints = process.communicate()
        assert process.returncode == 0, complaints
        for line in said.splitlines():
            self.take(line)


def test_nothing_is_lost_or_done_twice_when_the_process_is_killed_again_and_again(tmp_path):
    model = Model()
    cases = {"openai-503-overloaded": {"id": "x", "status": 503, "body": {"error": {"message": "busy", "code": None}}}}
    with ScriptedProvider(model, cases=cases) as provider:
        scene = Scene(tmp_path, provider, model, Dice(20_261_130))
        for _ in range(KILLS):
            scene.kill_once()
        scene.finish()
    connection = apsw.Connection(str(scene.database), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    rows = connection.execute("SELECT id, thread, turn, kind, content FROM rows ORDER BY thread, seq").fetchall()
    states = Counter(state for (state,) in connection.execute("SELECT state FROM operations"))
    left = connection.execute("SELECT count(*) FROM inbox WHERE taken = 0").fetchall()
    connection.close()

    assert scene.committed <= {row[0] for row in rows}, "a row that was acknowledged as committed is missing"
    assert len(scene.committed) > KILLS
    side = scene.side_file.read_text().splitlines()
    looks = Counter(line for line in side if " looked " in line)
    marks = Counter(line for line in side if " looked " not in line)
    assert marks
    assert [mark for mark, times in marks.items() if times > 1] == [], "an undeclared effect was repeated"
    assert scene.finished == {f"t{number}": "completed" for number in range(THREADS)}
    opened = Counter((thread, turn) for _, thread, turn, kind, _ in rows if kind == "message")
    ended = Counter((thread, turn) for _, thread, turn, kind, _ in rows if kind == "outcome")
    assert opened == ended, "a turn has not exactly one outcome"
    assert set(opened.values()) == {1}
    assert not states["running"]
    assert not states["intended"]
    assert states["unknown"], "no kill met a running write: the test tests nothing"
    # Between the tool's own line and its written end lie microseconds; a kill that falls there lets one read run again.
    repeated = sum(times - 1 for times in looks.values())
    assert repeated <= KILLS // 10, f"{repeated} reads ran again though they had ended"
    assert left == [(0,)]
    _check_results_tell_the_truth(rows, marks)
    figures = f"{KILLS} kills, {len(rows)} rows, {len(scene.committed)} of them acknowledged before a kill or the end"
    sys.stdout.write(f"{figures}, {len(marks)} writes and {len(looks)} reads, {repeated} reads again, {dict(states)}\n")


def _check_results_tell_the_truth(rows: list[tuple], marks: Counter[str]) -> None:
    """A call whose result says that it ran has left its mark; every call has one result."""
    results: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for _, thread, _, kind, content in rows:
        value = msgspec.json.decode(content)
        if kind == "result":
            results[thread] += 1
            if value["text"].startswith("marked "):
                assert marks[f"{thread} {value['text'].removeprefix('marked ')}"] == 1
        elif kind == "reply":
            calls[thread] += sum(part["type"] == "call" for part in value["parts"])
    assert results == calls
