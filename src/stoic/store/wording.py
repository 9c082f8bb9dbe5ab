"""Texts as the words they are searched by, the same for every store: folded, and apart also where a script has no spaces."""

import re
import unicodedata
from itertools import pairwise

MOST_TERMS = 64
"""So many terms of a query are looked for: the first ones."""

# Scripts that write words without spaces, or glue endings to them: Thai, Lao, Myanmar, Khmer, kana, Han, Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3"
    "\U00020000-\U0003ffff"
)
_APART = re.compile(f"([{_UNSPACED}])")
_RUN = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_FIRST_MARK, _LAST_MARK = "\u0300", "\u036f"
"""Accents of the Latin, Greek and Cyrillic scripts; the marks of others make another word."""

_MARK = r"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f])"
"""A mark, or another character that is no letter: `re` cannot tell them apart."""
_MORE_MARKS = re.compile(f"({_MARK}{{32}}){_MARK}+")
"""More than any character has; to bring them into order would take time in the square of their number."""


def indexed(text: str) -> str:
    """Return a text as its words, apart by single spaces; of an unspaced script each character is a word."""
    return " ".join(_APART.sub(r" \1 ", " ".join(_words(text))).split())


def terms_of(query: str) -> list[str]:
    """Return what a query looks for: words, and pairs of neighbours of an unspaced script, as they stand in `indexed`.

    A term holds letters, digits, marks and spaces only, whatever the query holds.
    """
    terms = [term for word in _words(query) for run in _RUN.findall(word) for term in _terms_of_run(run)]
    return list(dict.fromkeys(terms))[:MOST_TERMS]


def matches(terms: list[str], words: str) -> int:
    """Return how many of the terms stand in a text that was `indexed`."""
    return sum(f" {term} " in f" {words} " for term in terms)


def _terms_of_run(run: str) -> list[str]:
    if len(run) == 1 or not _APART.match(run):
        return [run]
    return [f"{first} {second}" for first, second in pairwise(run)]


def _words(text: str) -> list[str]:
    """Return the words in lower case, without accents, and compatible forms of a character as one."""
    apart = unicodedata.normalize("NFKD", _MORE_MARKS.sub(r"\1", text)).lower()
    kept = "".join(each for each in apart if not _FIRST_MARK <= each <= _LAST_MARK)
    folded = unicodedata.normalize("NFC", kept)
    return "".join(each if unicodedata.category(each)[0] in "LNM" else " " for each in folded).split()
