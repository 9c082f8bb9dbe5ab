"""Memories: the same stories on every store. Ranking may differ in detail; who is found, and who is best, may not."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stoic.errors import StoreError
from stoic.records import Memory, Step, ThreadRecord
from stoic.store.wording import MOST_TERMS, indexed, matches, terms_of

THREAD = "thread-1"


def memory(name: str, text: str, **fields) -> Memory:
    known: dict[str, Any] = {"id": name, "scope": "a", "thread": THREAD, "text": text, "created_at": 7}
    return Memory(**known | fields)


async def found(store, query: str, *, scope: str | None = "a", limit: int = 10) -> list[str]:
    return [each.id for each in await store.recall(scope, query, limit)]


def test_a_memory_is_stored_once_by_its_id_and_comes_back_as_it_was(play):
    async def story(log):
        first = memory("m", "Tabs, not spaces.\n\x00", tags=["style", "Zürich"])
        assert await log.store.remember(first)
        assert not await log.other.remember(replace(first, text="another", scope="b"))
        assert await log.other.memories("a", 10) == [first]
        assert await log.store.recall("a", "zurich", 10) == [first]
        assert await found(log.store, "another", scope=None) == []

    play(story)


def test_the_best_match_comes_first_and_what_matches_nothing_is_not_found(play):
    async def story(log):
        texts = {
            "deploy": "We deploy the server every Friday",
            "both": "Friday deploys of the billing server need a review by Ada",
            "cat": "Ada has a cat",
        }
        for name, text in texts.items():
            await log.store.remember(memory(name, text))
        assert set(await found(log.other, "server friday")) == {"deploy", "both"}
        assert (await found(log.other, "billing server review"))[0] == "both"
        assert await found(log.other, "FRIDAY billing ada review", limit=1) == ["both"]
        assert await found(log.other, "dog") == []
        assert await found(log.other, "deplo") == []

    play(story)


def test_words_of_any_language_are_found(play):
    async def story(log):
        texts = {
            "french": "Le café préféré d'Élodie",
            "russian": "Отчёт нужен по пятницам",
            "hindi": "बैठक सोमवार को है",
            "chinese": "部署服务器在北京的机房",
            "japanese": "東京タワーで会議",
            "thai": "ประชุมวันศุกร์",
            "korean": "서울에서 회의",
        }
        for name, text in texts.items():
            await log.store.remember(memory(name, text))
        queries = {
            "french": "CAFE elodie",
            "russian": "ПЯТНИЦАМ",
            "hindi": "सोमवार",
            "chinese": "北京",
            "japanese": "会議 タワー",
            "thai": "ศุกร์",
            "korean": "서울",
        }
        for name, query in queries.items():
            assert await found(log.other, query) == [name], name
        assert await found(log.other, "京北") == []

    play(story)


SYNTAX = (
    *(
        '"',
        "'",
        "x*",
        "-x",
        "^x",
        "text:x",
        "words : x",
        "NEAR(x y)",
        "x OR y",
        "x AND (y",
        "NOT",
        "{x y}: z",
        "\x00",
        "()",
    ),
    "'; DROP TABLE memories; --",
)


def test_no_query_is_syntax(play):
    async def story(log):
        await log.store.remember(memory("one", "alpha"))
        await log.store.remember(memory("two", "beta"))
        for query in SYNTAX:
            assert await found(log.other, f"alpha {query}") == ["one"], query
            assert await found(log.other, f"{query} alpha") == ["one"], query
            await log.other.recall("a", query, 10)
        assert len(await log.other.memories(None, 10)) == 2

    play(story)


def test_a_query_without_words_brings_the_newest(play):
    async def story(log):
        for number in range(4):
            await log.store.remember(memory(f"m{number}", f"text {number}"))
        assert await found(log.other, "  ?! ", limit=2) == ["m3", "m2"]
        assert [each.id for each in await log.other.memories("a", 3)] == ["m3", "m2", "m1"]

    play(story)


def test_a_scope_sees_only_its_own_and_no_scope_sees_all(play):
    async def story(log):
        await log.store.remember(memory("a1", "blue"))
        await log.store.remember(memory("b1", "blue", scope="b"))
        assert await found(log.other, "blue") == ["a1"]
        assert await found(log.other, "", scope="b") == ["b1"]
        assert set(await found(log.other, "blue", scope=None)) == {"a1", "b1"}
        assert [each.id for each in await log.other.memories(None, 9)] == ["b1", "a1"]
        assert not await log.other.forget("b", "a1")
        assert await log.other.forget("a", "a1")
        assert not await log.other.forget(None, "a1")
        assert await log.other.forget(None, "b1")
        assert await found(log.store, "blue", scope=None) == await found(log.store, "", scope=None) == []
        assert await log.store.remember(memory("a1", "blue again"))
        assert await found(log.other, "blue") == ["a1"]

    play(story)


def test_a_thread_that_ended_by_refusal_teaches_nothing_any_more(play):
    async def story(log):
        await log.store.create_thread(ThreadRecord(id="living", created_at=1))
        await log.store.remember(memory("before", "the secret word"))
        await log.store.remember(memory("living", "the other word", thread="living"))
        await log.append(log.row(1, kind="refusal_stop", role="system", visible=False))
        assert not await log.other.remember(memory("after", "the last word"))
        for query in ("word", ""):
            assert await found(log.other, query) == ["living"]
        assert [each.id for each in await log.other.memories("a", 9)] == ["living", "before"]
        await log.store.append(log.lease, Step(release=True))
        await log.store.delete_thread(THREAD, 0)
        assert [each.id for each in await log.other.memories(None, 9)] == ["living"]
        assert await found(log.other, "word secret") == ["living"]

    play(story)


def test_a_memory_outlives_its_deleted_thread_and_leaves_it_its_ids(play):
    async def story(log):
        for name in ("m1", "m2"):
            await log.store.remember(memory(name, f"lasting {name}"))
        await log.store.append(log.lease, Step(release=True))
        await log.store.delete_thread(THREAD, 0)
        left = await log.other.recall("a", "lasting", 9)
        assert {each.text for each in left} == {"lasting m1", "lasting m2"}
        assert {each.thread for each in left} == {""}
        assert not {each.id for each in left} & {"m1", "m2"}
        await log.store.create_thread(ThreadRecord(id=THREAD, created_at=1))
        assert await log.other.remember(memory("m1", "new"))
        assert len(await log.store.memories("a", 9)) == 3

    play(story)


def test_what_no_file_can_hold_is_an_error_and_stores_nothing(play):
    async def story(log):
        with pytest.raises(StoreError, match="memory m holds something that JSON cannot hold"):
            await log.store.remember(memory("m", "half a pair: \ud800"))
        assert await log.other.memories(None, 9) == []
        assert await log.other.recall("a", "\ud800", 9) == []

    play(story)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_a_term_is_never_syntax_and_stands_in_its_own_text(text: str):
    terms = terms_of(text)
    assert len(terms) <= MOST_TERMS
    assert all(each.isspace() or each not in "\"'()*^:-+{}" for term in terms for each in term)
    assert matches(terms, indexed(text)) == len(terms)
