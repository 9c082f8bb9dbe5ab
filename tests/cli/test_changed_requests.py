"""A request that is changed and sent once more, as a person sees it: live on stderr, and later in `stoic show`."""

import pytest

from stoic.cli.wording import describe
from stoic.events import RequestChanged
from stoic.testing import ScriptedProvider

PIXEL = bytes.fromhex("89504e470d0a1a0a") + b"\0" * 8


def refuse(message: str, code: str | None) -> dict[str, object]:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return {"status": 400, "body": {"error": error}}


NO_ROOM = (
    "This model's maximum context length is 8000 tokens. However, you requested 9000 tokens (7000 in the messages)."
)


def test_a_person_is_told_what_was_changed_and_finds_it_in_the_log(bench):
    (bench.folder / "a.png").write_bytes(PIXEL)
    script = [
        refuse(NO_ROOM, "context_length_exceeded"),
        refuse("Invalid image: the image is too large.", "invalid_image"),
        ["text:ok"],
    ]
    with ScriptedProvider(script) as provider:
        done = bench.stoic(
            *bench.working(provider, "See", "--thread", "t", "--image", str(bench.folder / "a.png"), "--yes")
        )
    assert done.returncode == 0
    lowered, pictured = "with max_tokens 1,000", "without 1 image, with a note in the place"
    told = done.stdout + done.stderr
    assert f"↻ sent once more {lowered}" in told
    assert f"↻ sent once more {pictured}" in told
    shown = bench.stoic("show", "t").stdout
    assert "context_length (recovers with request_change), HTTP 400; evidence" in shown
    assert f"; sent again {lowered}" in shown
    assert f"; sent again {pictured}" in shown


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (RequestChanged(round=1, kind="images", images=2), "without 2 images, with a note in the place"),
        (RequestChanged(round=1, kind="plain"), "in its plainest form, without thinking and signatures"),
    ],
)
def test_each_change_has_its_words(event: RequestChanged, words: str):
    line = describe(event)
    assert line is not None
    assert line.text == f"↻ sent once more {words}"
