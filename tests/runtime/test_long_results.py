"""A long result in a turn: cut for the model, whole in a file beside the log, and read again through a tool."""

import stat

from tests.runtime.harness import Bench, outcome, play

from stoic.tools.builtin import journal_tools
from stoic.tools.declaration import Tool

TEXT = "".join(f"line {number}\n" for number in range(20_000))


async def talk() -> str:
    """Say much."""
    return TEXT


def test_a_model_reads_on_where_a_long_result_was_cut_and_asks_what_became_of_it(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            tools = [Tool(talk, effect="read"), *journal_tools()]
            assert outcome(await bench.thread(runtime, *tools).run("go")).text == "Done."
            results = [row.content["text"] for row in await bench.rows(runtime) if row.kind == "result"]
        assert len(results[0]) < 34_000
        assert "invocation id: t.1.1.0" in results[0]
        assert results[1] == "line 9000\nline 9001\n\n[more follows: go on with first_line=9003]"
        assert results[2] == '{"found":true,"started":true,"ended":true,"end":"returned","status":"not_asked"}'
        kept = tmp_path / "spill" / "t" / "t.1.1.0.txt"
        assert kept.read_text() == TEXT
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    script = [
        ["tool:talk({})", "stop"],
        ['tool:read_output({"operation":"t.1.1.0","first_line":9001,"limit_lines":2})', "stop"],
        ['tool:operation_status({"id":"t.1.1.0"})', "stop"],
        ["text:Done.", "stop"],
    ]
    play(tmp_path, script, story)
