"""Which images a provider means, found in the very request, and the note in their place."""

from typing import Any

import msgspec
import pytest
from tests.core.test_core_edges import row

from stoic.core.images import images_at, images_of, pointer_of, without_images
from stoic.records import Report, ViewChange

FIRST, SECOND, THIRD = "QUFB", "QkJC", "Q0ND"


def image(data: str) -> dict[str, str]:
    return {"media_type": "image/png", "data_base64": data}


def url(data: str) -> str:
    return f"data:image/png;base64,{data}"


CHAT = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "data: be brief"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url(FIRST)}}]},
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": url(SECOND)}},
                {"type": "image_url", "image_url": {"url": url(THIRD)}},
                {"type": "text", "text": "see"},
            ],
        },
    ],
}
SOURCE = {"type": "base64", "media_type": "image/png"}
MESSAGES = {
    "max_tokens": 8,
    "messages": [
        {"role": "user", "content": [{"type": "image", "source": {**SOURCE, "data": FIRST}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "content": [{"type": "image", "source": {**SOURCE, "data": SECOND}}]},
                {"type": "text", "text": "data"},
            ],
        },
    ],
}
RESPONSES = {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": url(FIRST), "x": 1}, "odd"]}]}
GEMINI = {
    "contents": [
        {"parts": [{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": FIRST}}]},
        {"parts": [{"inlineData": {"mimeType": "image/png", "data": SECOND}}]},
    ]
}


@pytest.mark.parametrize(
    ("body", "pointer", "found"),
    [
        (CHAT, "messages[2].content[1]", [THIRD]),
        (CHAT, "messages[2].content[0].image_url.url", [SECOND]),
        (CHAT, "messages.[2]", [SECOND, THIRD]),
        (CHAT, "messages.content", [FIRST, SECOND, THIRD]),
        (CHAT, "messages[2].content[2]", []),
        (CHAT, "messages[9].content[0]", []),
        (CHAT, "input[0]", []),
        (MESSAGES, "messages.0.content.0.image.source.base64", [FIRST]),
        (MESSAGES, "messages.0.content.0.image.source.base64.data", [FIRST]),
        (MESSAGES, "messages.1.content.0.tool_result.content.0.image.source", [SECOND]),
        (MESSAGES, "messages.1.content.1", []),
        (RESPONSES, "input[0].content[0].image_url", [FIRST]),
        (RESPONSES, "input[0].content[1].image_url", []),
        (GEMINI, "contents[0].parts[1].inline_data", [FIRST]),
        (GEMINI, "contents[1]", [SECOND]),
    ],
)
def test_a_place_of_a_request_leads_to_its_images(body: dict[str, Any], pointer: str, found: list[str]):
    assert images_at(msgspec.json.encode(body), pointer) == found


def error(**fields: Any) -> Report:
    return Report(provider="p", status=400, body={"error": fields})


@pytest.mark.parametrize(
    ("report", "pointer"),
    [
        (error(message="too large", param="messages[2].content[1]", code=None), "messages[2].content[1]"),
        (error(message="messages.0.content.1.image.source.base64: image exceeds 5 MB"), "messages.0.content.1.image.source.base64"),
        (error(details=[{"fieldViolations": [{"field": "contents[0].parts[1].inline_data"}]}]), "contents[0].parts[1].inline_data"),
        (Report(provider="p", body="Invalid 'input[0].content[1].image_url'"), "input[0].content[1].image_url"),
        (Report(provider="p", events=[{"data": {"error": {"param": "input[3]"}}}]), "input[3]"),
        (error(message="an image of your messages is too large. Your input was 6 MB"), None),
        (error(message="x" * 2_000 + "messages[1]"), None),
    ],
)  # fmt: skip
def test_the_place_that_an_error_names_is_found_wherever_it_stands(report: Report, pointer: str | None):
    assert pointer_of(report) == pointer


def seen(seq: int, *images: str, text: str = "see", **fields: Any):
    content = {"text": text} | ({"images": [image(data) for data in images]} if images else {})
    return row(seq, "message", content, **fields)


def test_all_images_give_way_to_a_note_where_none_is_pointed_at():
    changes, count = without_images([seen(1, FIRST, SECOND), seen(2), seen(3, THIRD, text=" ")], None)
    first, third = changes
    assert count == 3
    assert first.view["text"].startswith("see\n\n[runtime] 2 images that belong here are not shown")
    assert third == ViewChange(seq=3, view={"text": third.view["text"]})
    assert third.view["text"].startswith("[runtime] An image that belongs here is not shown")


def test_only_the_image_that_is_meant_gives_way():
    changes, count = without_images([seen(1, FIRST), seen(2, SECOND, THIRD)], [THIRD])
    assert count == 1
    assert [change.seq for change in changes] == [2]
    assert changes[0].quarantine is None
    assert changes[0].view["images"] == [image(SECOND)]
    assert without_images([seen(1, FIRST)], [THIRD]) == ([], 0)


def test_what_a_model_sees_already_counts_and_stays():
    shown = {"text": "paid\n\n[runtime] a warning", "failure": "tool_error", "images": [image(FIRST)]}
    result = row(1, "result", {"text": "paid", "images": []}, view=shown)
    (change,), _ = without_images([result], None)
    assert change.view["failure"] == "tool_error"
    assert change.view["text"].startswith(shown["text"])
    assert images_of(row(2, "result", {"text": "", "images": [image(FIRST)]}, view={"text": "(withheld)"})) == []
