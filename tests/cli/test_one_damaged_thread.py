"""One thread of a database is damaged: it is named, and everything else goes on."""

import apsw
from tests.cli.background import Up, begin_nightly, inside, reach
from tests.cli.processes import Bench

from stoic.testing import ScriptedProvider


def damage(bench: Bench, thread: str) -> None:
    """Give the message of a thread another shape, as nobody does who goes through the store."""
    connection = apsw.Connection(str(bench.database))
    for (trigger,) in list(connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")):
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute("UPDATE rows SET content = '[1]' WHERE thread = ? AND kind = 'message'", (thread,))
    connection.close()


def test_what_is_damaged_runs_no_more_and_all_other_work_goes_on(bench):
    with ScriptedProvider([["text:ready"], ["text:ready"], ["text:the report"]]) as provider:
        reach(bench, provider)
        begin_nightly(bench, "bad")
        begin_nightly(bench, "good")
        damage(bench, "bad")
        with Up(bench) as up:
            up.wait_for(r"^! thread bad: .* the file is damaged; .* \(thread bad, row 1 \(message\), its content: ")
            up.wait_for(r"^good · turn 2 completed · 1 round$")
            assert up.drain() == 0
        listed = inside(bench, "schedule", "list")
        assert (listed.returncode, listed.stderr) == (0, "")
        assert all(f" {thread} " in listed.stdout for thread in ("bad", "good"))
        threads = inside(bench, "threads")
        assert threads.returncode == 0
        assert "bad   1 turn · damaged" in threads.stdout
        newest = inside(bench, "run", "--continue", "--workspace", str(bench.workspace), "And?")
        assert "the file is damaged" not in newest.stderr
        assert len(provider.requests) == 4
        approvals = inside(bench, "approvals", "list")
        assert (approvals.returncode, approvals.stderr) == (0, "")
