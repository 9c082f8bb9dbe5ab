"""What a model or a person searches by is a search or one sentence that says what is wrong: expressions, patterns, words."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.hostile import hostile_texts
from tests.fuzz.volume import ending, examples, run_bounded
from tests.tools.room import Room

from stoic.records import Memory
from stoic.store.memory import MemoryStore
from stoic.store.sqlite import SqliteStore
from stoic.store.wording import MOST_TERMS, indexed, matches, terms_of
from stoic.tools.expressions import LONGEST, compiled
from stoic.tools.ignoring import PatternTooSlowError, parse_patterns
from stoic.tools.searching import Search, SearchError

EXPRESSIONS = ["(", ")", "(?:", "(?P<a>", "(?x)", "(?i)", "(?#", "(?R)", "(?|", "(?<=", "[", "]", "[^", "[[:alpha:]]", "\\", "\\p{L}", "\\N{DIGIT ONE}", "\\1", "\\x", "{", "}", "{3}", "{99999}", "{3,}", "{,4000000000}", "{4000000000}", "{e<=2}", "*", "+", "?", "|", "^", "$", ".", "a", "b", "aaaa", "\n", " "]  # fmt: skip
PATTERNS = ["*", "**", "**/", "/", "!", "\\", "[", "]", "[!", "[a-z]", "[z-a]", "[[:alpha:]]", "?", "#", " ", "\n", "\r", "a", "b", ".py", "{a,b}", ".."]  # fmt: skip
PATHS = ["a", "a/b/c", "b.py", "a/" * 300, "a" * 2_000, "é", " ", "[", "-"]
WORDS = ["alpha", "Zürich", "zu\u0308rich", "漢字", "ｶﾞ", "ไทย", "한국", "İ", "ß", "\u0316", "\u0300", "\uff9e", "a\u0591\u05b0", "ﷺ", '"', "*", "NEAR(", " OR ", "\0", "_", "1"]  # fmt: skip


def test_any_expression_searches_or_is_told_in_one_sentence(tmp_path):
    room = Room(tmp_path)
    room.put("a", "aab\nab 1\n\x1b[2J é\n" + "a" * 3_000 + "b\n")

    @examples(150)
    @given(hostile_texts(EXPRESSIONS), st.booleans(), st.booleans())
    def run(query, expression, ignore_case):
        try:
            with ending():
                said = Search(query, expression=expression, ignore_case=ignore_case, seconds=0.2).run(room.workspace)
        except SearchError as error:
            said = str(error)
        assert 0 < len(said) < 3_000

    run()


@examples(200)
@given(hostile_texts(PATTERNS), st.sampled_from(PATHS))
def test_any_pattern_matches_a_path_or_not(pattern, path):
    with ending():
        try:
            said = str(parse_patterns(pattern).match_file(path))
        except PatternTooSlowError as error:
            said = str(error)
    assert said in {"True", "False"} or "needs more than 1 s for one path" in said


def test_any_words_find_the_same_memories_in_every_store(tmp_path):
    def memory(name, text):
        return Memory(id=name, scope="a", thread="t", text=text, created_at=1)

    with asyncio.Runner() as runner:
        stores = [SqliteStore(tmp_path / "log.db"), MemoryStore()]
        for store in stores:
            runner.run(store.open())
            for name, text in enumerate(WORDS):
                runner.run(store.remember(memory(str(name), f"{text} {name}")))

        @examples(150)
        @given(hostile_texts(WORDS))
        def run(query):
            with ending():
                terms = terms_of(query)
                assert len(terms) <= MOST_TERMS
                assert matches(terms, indexed(query)) == len(terms)
                sqlite, memory = ({each.id for each in runner.run(store.recall("a", query, 99))} for store in stores)
            assert sqlite == memory

        run()
        for store in stores:
            runner.run(store.close())


# ---- found by the above -------------------------------------------------------------------------

REFUSED = {
    "(" * 1_000 + ")" * 1_000: "query is nested too deep",
    "(?:" * 300 + ")" * 300: "query is nested too deep",
    "(?P<a>" * 300 + ")" * 300: "query is nested too deep",
    "a{4000000000}": "query counts so high",
    "[ab]{400000000}": "query counts so high",
    "a{4000000000,}": "query counts so high",
    "(a{1000}){1000}": "query counts so high",
    "((a{100}){100}){100}": "query counts so high",
    "(?:a{1000})(?#comment){1000}": "query counts so high",
    "(?:a{1000}){e}{1000}": "query counts so high",
    "[]a]{4000000000}": "query counts so high",
    "\\({4000000000}": "query counts so high",
    "a{65535}" * 200: "query counts so high",
    "(?x)(a{1000}) # comment\n{1000}": "query sets the flag x",
    "(?i-x:a)": "query sets the flag x",
    "x" * (LONGEST + 1): f"query has {LONGEST + 1} characters; look for {LONGEST} at the most",
}


@pytest.mark.parametrize("query", REFUSED, ids=lambda query: query[:20])
def test_expression_that_would_take_the_machine_is_refused_at_once(query):
    with ending(cpu_seconds=10), pytest.raises(SearchError, match=REFUSED[query]) as refused:
        Search(query, expression=True)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("query", [r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", r"^.{120,}$", r"\d{4}-\d{2}-\d{2}T(\d{2}:?){3}", r"foo\(?x", "(?P<x>a{3})(?P=x)", "a{,5}", r"(?i)\bx{2}\b", "{", "a{b}", "[(]{3}", "(?#{4000000000})a"])  # fmt: skip
def test_expression_that_people_write_is_taken(query):
    assert compiled(query, 0).pattern == query


def test_largest_expressions_that_are_taken_need_little_memory():
    largest = ["a{99999}", "(?:a?){19000}", "(?:[ab]|c){16000}", "(?:(?:a{9}){90}){90}", r"\p{L}{99999}"]
    code = f"from stoic.tools.expressions import compiled\nfor each in {largest}: compiled(each, 0)"
    done = run_bounded(["-c", code], cpu_seconds=20, memory_bytes=2**29)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("marks", ["\u0316\u0300", "\u0591\u05b0", "\uff9e\u0316", "\u3099\u0300", "\u0344\u0316", "\u200d\u0316\u0300"])  # fmt: skip
def test_marks_without_end_are_indexed_in_a_moment(marks):
    """Their order took time in the square of their number: with 2 MB of them, hours on the thread that writes the log."""
    with ending(cpu_seconds=10):
        words = indexed("Zu\u0308rich a" + marks * 200_000 + " end")
        assert terms_of("Zürich " + marks * 200_000 + " end")[:1] == ["zurich"]
    assert words.startswith("zurich a")
    assert words.endswith(" end")
