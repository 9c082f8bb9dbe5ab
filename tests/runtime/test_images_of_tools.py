"""A tool may return images: the model sees them, the log keeps them, and another image is another outcome."""

import base64

from tests.runtime.harness import Bench, outcome, play

from stoic.records import ImagePart
from stoic.tools.declaration import Tool

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nscreen").decode()
IMAGE = ImagePart(media_type="image/png", data_base64=PNG)


def test_a_tool_returns_an_image_beside_its_text(tmp_path):
    def screenshot() -> list[object]:
        """Look at the screen."""
        return ["screenshot taken", IMAGE]

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            ended = outcome(await bench.thread(runtime, Tool(screenshot, effect="read")).run("look"))
            rows = await bench.rows(runtime)
        assert ended.text == "a door"
        sent = bench.provider.requests[1].json["messages"]
        assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "user"]
        assert sent[3]["content"].startswith("screenshot taken")
        assert PNG in str(sent[4]["content"])
        (result,) = [row for row in rows if row.kind == "result"]
        assert result.content["text"] == "screenshot taken"
        assert result.content["images"] == [{"type": "image", "media_type": "image/png", "data_base64": PNG}]

    play(tmp_path, [["tool:screenshot({})"], ["text:a door"]], story)


def test_an_image_alone_is_a_result_and_new_ones_are_news(tmp_path):
    taken = iter(range(100))

    def screenshot() -> ImagePart:
        """Look at the screen."""
        data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + str(next(taken)).encode()).decode()
        return ImagePart(media_type="image/png", data_base64=data)

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            ended = outcome(await bench.thread(runtime, Tool(screenshot, effect="read")).run("watch"))
            rows = await bench.rows(runtime)
        assert ended.outcome == "completed"
        results = [row for row in rows if row.kind == "result"]
        assert len(results) == 33
        assert not [row for row in results if row.meta.get("loop") == "blocked"]

    play(tmp_path, [*[["tool:screenshot({})"]] * 33, ["text:done"]], story)
