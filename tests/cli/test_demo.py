"""`stoic demo`: it does what it says, and it says so only when it was done."""

import asyncio
import os
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.processes import LIMIT_SECONDS
from tests.security.canaries import MARK, plant, traces

from stoic.cli.demo_crash import Crash
from stoic.cli.demo_play import LEDGER, ORDER, SUMMARY, VOID
from stoic.cli.demo_proof import Claim, prove
from stoic.store.sqlite import SqliteStore

CLAIMS = 21
WIDEST = 80
DEAD = Crash(pid=4711, signal=signal.SIGKILL, in_the_middle=True, left_nothing=True)


def folder_of(bench) -> Path:
    (folder,) = bench.folder.glob("stoic-demo-*")
    return folder


def processes_in(folder: Path) -> list[int]:
    """Return the processes that work below a folder (lsof is not everywhere: without /proc, ps names arguments only)."""
    if not Path("/proc/self/cwd").exists():
        listed = subprocess.run(["/bin/ps", "-axo", "pid=,args="], capture_output=True, text=True, check=True).stdout
        return [int(line.split()[0]) for line in listed.splitlines() if str(folder) in line]
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = [str((process / "cwd").readlink()), (process / "cmdline").read_text(errors="replace")]
        except OSError:  # it has ended, or is not ours to look at
            continue
        found += [int(process.name)] if any(str(folder) in each for each in told) else []
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return a bench on which the demonstration ran, and what came of it."""
    from tests.cli.processes import Bench

    bench = Bench(tmp_path_factory.mktemp("demo"))
    done = bench.stoic("demo", **plant(bench.folder, "http://127.0.0.1:9"), TMPDIR=str(bench.folder), UV="")
    left = processes_in(bench.folder)
    return bench, done, left


def claims_of(folder: Path, crash: Crash = DEAD) -> dict[str, bool]:
    """Return what the proof says with the provider's record missing."""

    async def claims() -> list[Claim]:
        store = SqliteStore(folder / "stoic.db")
        await store.open()
        found = await prove(store, folder / "workspace", [], crash)
        await store.close()
        return found

    return {claim.text: claim.holds for claim in asyncio.run(claims())}


def test_demo_works_without_key_terminal_or_question_and_proves_itself(played):
    bench, done, _ = played
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("The provider is simulated")
    assert "(simulated provider)" in done.stdout
    assert done.stdout.count("  ✓ ") == CLAIMS
    assert "  ✗ " not in done.stdout
    assert "\x1b" not in done.stdout
    assert (folder_of(bench) / "workspace" / "summary.txt").read_text() == SUMMARY


def test_demo_keeps_and_shows_none_of_the_keys_it_does_not_need(played):
    bench, done, _ = played
    assert MARK not in done.stdout + done.stderr
    assert list(traces(folder_of(bench))) == []


def test_demo_rolls_back_a_cut_stream_and_feeds_back_a_bad_argument(played):
    _, done, _ = played
    assert "↩ rolled back: nothing that this attempt had said counts" in done.stdout
    assert "write_file not run (bad_arguments)" in done.stdout
    assert VOID not in done.stdout


def test_demo_falls_back_for_one_turn_and_returns(played):
    _, done, _ = played
    fallback = "⇄ anthropic:demo answers the rest of this turn: openai:demo failed (overloaded)"
    before, found, after = done.stdout.partition(fallback)
    assert found
    assert before.count("overloaded, HTTP 503") == 4
    assert "⇄" not in after
    assert "openai:demo (simulated provider)" in after


def test_demo_kills_a_process_in_the_middle_of_a_write_and_does_not_repeat_it(played):
    bench, done, _ = played
    killed = re.search(r"kill -9 ([0-9]+): the line is written", done.stdout)
    assert killed
    assert f"process {killed[1]} died of SIGKILL" in done.stdout
    assert "? shell effect UNKNOWN" in done.stdout
    assert "- shell not run (tool_denied)" in done.stdout
    assert (folder_of(bench) / "workspace" / LEDGER).read_text() == ORDER


def test_demo_withholds_a_refused_result_and_stops_a_loop_with_its_reason(played):
    _, done, _ = played
    assert "⊘ withheld from the model" in done.stdout
    assert done.stdout.count("print_file not run (unknown_tool)") == 10
    assert done.stdout.count("print_file not run (stuck_loop)") == 4
    assert "stopped: the agent repeats itself" in done.stdout


def test_demo_shows_that_a_refused_task_stays_shut(played):
    _, done, _ = played
    assert "an event of kind task_ended joins the turn" in done.stdout
    _, _, after = done.stdout.partition("Started anew, stoic tells the task to go on:\n")
    assert after.startswith("✗ task demo.7.1.0: This task ended by refusal")


def test_demo_leaves_no_process_and_no_pipe_behind(played):
    bench, _, left = played
    assert left == []
    assert [path.name for path in (folder_of(bench) / "workspace").iterdir() if path.is_fifo()] == []


def test_demo_says_how_long_it_took_and_that_its_waits_are_shorter(played):
    _, done, _ = played
    assert re.search(r"^What happened in these [0-9]+ s, checked", done.stdout, re.MULTILINE)
    assert "shorter than the defaults (1, 2, 4 s and 30 s)" in done.stdout


def test_demo_fits_a_page_except_for_the_paths_of_its_folder(played):
    bench, done, _ = played
    lines = [line for line in done.stdout.splitlines() if str(folder_of(bench)) not in line]
    assert [line for line in lines if len(line) > WIDEST] == []


def test_demo_names_commands_that_show_more(played):
    bench, done, _ = played
    named_log = re.search(r"export STOIC_DB=(\S+)", done.stdout)
    assert named_log
    log = shutil.copy(named_log[1], bench.folder / "copy.db")  # a decision changes it
    named = re.findall(r"^  stoic ((?:show|health|operations).*?)(?:\s+#.*)?$", done.stdout, re.MULTILINE)
    said = [bench.stoic(*shlex.split(each), STOIC_DB=str(log)) for each in named]
    assert [each.returncode for each in said] == [0, 0, 0, 0]
    assert "outcome: completed" in said[0].stdout
    assert "openai:demo  healthy" in said[1].stdout
    assert "effect UNKNOWN" in said[2].stdout
    assert "demo.4.1.0 of shell is done" in said[3].stdout


def test_demo_takes_nothing_from_the_environment(bench):
    environment = bench.environment | {
        "TMPDIR": str(bench.folder),
        "STOIC_TEMPERATURE": "hot",
        "HTTPS_PROXY": "http://127.0.0.1:1",
        "ALL_PROXY": "http://127.0.0.1:1",
        "OPENAI_BASE_URL": "http://127.0.0.1:1",
        "NO_COLOR": "1",
        "UV": "/somewhere/uv",
    }
    done = subprocess.run(
        bench.command("demo"), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "put the same `uv run` before each of them" in done.stdout


def test_demo_shows_on_a_terminal_how_the_cut_text_vanishes(bench):
    with bench.terminal("demo", TMPDIR=str(bench.folder), columns=120, rows=150) as terminal:
        terminal.wait_for(VOID)
        assert terminal.end() == 0
    assert VOID not in terminal.display.text()
    assert "VOID" not in terminal.display.text()


def test_ctrl_c_in_the_middle_of_the_write_leaves_no_process_behind(bench):
    with bench.terminal("demo", TMPDIR=str(bench.folder), columns=120, rows=150) as terminal:
        terminal.wait_for("will not live long")
        terminal.interrupt()
        assert terminal.end() == 130
    assert "Traceback" not in terminal.raw
    assert processes_in(bench.folder) == []
    assert not (folder_of(bench) / "workspace" / "confirmation").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_in_the_middle_of_the_write_leaves_no_process_behind(number, code, bench):
    bench.environment["TMPDIR"] = str(bench.folder)
    with bench.start("demo") as process:
        for line in process.stdout:
            if line.startswith("▶ shell echo".encode()):
                break
        process.send_signal(number)
        _, said = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, said) == (code, b"")
    assert processes_in(bench.folder) == []


def test_demo_whose_output_nobody_reads_ends_at_once_and_leaves_no_process(bench):
    bench.environment["TMPDIR"] = str(bench.folder)
    with bench.start("demo") as process:
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(LIMIT_SECONDS) == 141
    assert said == b""
    assert processes_in(bench.folder) == []


def test_demo_that_has_no_temporary_folder_says_what_to_do(bench):
    # A device is no folder, for whoever runs this, root included; tempfile then looks further, so all must be missing.
    code = (
        "import tempfile, sys; tempfile.tempdir = '/dev/null/none'; sys.argv = ['stoic', 'demo'];"
        "from stoic.cli import main; main()"
    )
    done = subprocess.run(
        [bench.command()[0], "-c", code],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == 2
    assert done.stderr.startswith("stoic: no temporary folder can be made")
    assert "set TMPDIR" in done.stderr


@pytest.mark.parametrize(
    ("broken", "claim"),
    [
        ("summary.txt", "summary.txt holds exactly what the agent wrote"),
        ("notes/monday.txt", "the notes are as they were"),
        (LEDGER, "ledger.txt holds the order exactly once"),
    ],
)
def test_claim_about_a_file_fails_when_the_disk_says_otherwise(broken, claim, played):
    bench, _, _ = played
    folder = folder_of(bench)
    file = folder / "workspace" / broken
    before = file.read_text()
    assert claims_of(folder)[claim]
    file.write_text(before * 2)
    try:
        assert not claims_of(folder)[claim]
    finally:
        file.write_text(before)


@pytest.mark.parametrize(
    "crash",
    [
        Crash(pid=4711, signal=None, in_the_middle=True, left_nothing=True),
        Crash(pid=4711, signal=signal.SIGKILL, in_the_middle=False, left_nothing=True),
        Crash(pid=4711, signal=signal.SIGKILL, in_the_middle=True, left_nothing=False),
    ],
)
def test_claim_about_the_kill_fails_unless_it_hit_the_middle_and_left_nothing(crash, played):
    bench, _, _ = played
    claim = "process 4711 died of SIGKILL while its command ran; that has ended too"
    assert claims_of(folder_of(bench))[claim]
    assert not claims_of(folder_of(bench), crash)[claim]


def test_claims_about_requests_fail_without_the_provider_s_record(played):
    bench, _, _ = played
    false = [text for text, holds in claims_of(folder_of(bench)).items() if not holds]
    assert false == [
        "one answer was cut off: logged as failed, sent again with the same bytes",
        "one call with wrong arguments was not run, and the model was told",
        "4 sends met an overload, then anthropic:demo answered; the log says why",
        "the model was told that the effect is unknown",
        "its text was in one request, the refused one, and in none after it",
        "told to go on after the restart, it did not: no request, the door is shut",
    ]
