"""What the `.gitignore` files of a tree hide: each speaks for its folder and below, the deepest has the last word."""

from typing import TYPE_CHECKING, cast

import regex
from pathspec import GitIgnoreSpec
from pathspec.pattern import Pattern, RegexMatchResult
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

if TYPE_CHECKING:
    import re

_ALWAYS = ".git"
_LONGEST_LINE = 1024
_SECONDS = 1.0
_SHOWN = 80


class PatternTooSlowError(ValueError):
    """A pattern takes too long to be matched; the text is told to the model."""


class Ignores:
    """The rules that hold in one folder; `below` gives those of a folder inside it."""

    def __init__(self, layers: tuple[tuple[str, GitIgnoreSpec], ...] = ()) -> None:
        self._layers = layers

    def below(self, folder: str, text: str | None) -> "Ignores":
        """Return the rules that hold in a folder.

        Args:
            folder: its path from the root, ending with a slash; empty for the root
            text: its `.gitignore`; None: it has none
        """
        return self if text is None else Ignores((*self._layers, (folder, parse_patterns(text))))

    def hides(self, path: str, *, folder: bool) -> bool:
        """Tell whether an entry is hidden; what lies in a hidden folder is not asked about (git does the same)."""
        if path.rpartition("/")[2] == _ALWAYS:
            return True
        for start, rules in reversed(self._layers):
            told = rules.check_file(path[len(start) :] + "/" * folder).include
            if told is not None:
                return told
        return False


def parse_patterns(text: str) -> GitIgnoreSpec:
    """Return the rules of a `.gitignore`; a line that is no pattern, or longer than any path, is left out."""
    lines = [line for line in text.splitlines() if len(line) <= _LONGEST_LINE]
    try:
        return _rules(lines)
    except ValueError:
        return _rules([line for line in lines if _is_pattern(line)])


def _rules(lines: list[str]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(lines, _BoundedPattern, backend="simple")


def _is_pattern(line: str) -> bool:
    try:
        _rules([line])
    except ValueError:
        return False
    return True


class _BoundedPattern(Pattern):
    """One line, matched by an engine that minds a timeout: whoever may write a `.gitignore` must not hold us for ever."""

    def __init__(self, line: str) -> None:
        """Read a line. Raises ValueError: it is no pattern, or has a class by name, which the library takes apart wrongly."""
        if "[:" in line:
            raise ValueError(f"{line[:_SHOWN]!r} names a class of characters")
        expression, include = GitIgnoreSpecPattern.pattern_to_regex(line)
        super().__init__(include)
        self._line = line
        try:
            # Unlike the standard library's, this engine also lets go of the interpreter's lock.
            self._expression = None if expression is None else regex.compile(expression, regex.VERSION0)
        except regex.error as error:
            raise ValueError(str(error)) from None

    def match_file(self, file: str) -> RegexMatchResult | None:  # pyright: ignore[reportIncompatibleMethodOverride] - paths are text here
        """Return the match, if there is one. Raises PatternTooSlowError."""
        if self._expression is None:
            return None
        try:
            found = self._expression.search(file, timeout=_SECONDS, concurrent=True)
        except TimeoutError:
            raise PatternTooSlowError(
                f"the pattern {self._line[:_SHOWN]!r} needs more than {_SECONDS:g} s for one path; it is the call's own, or of a "
                ".gitignore on the way: name a folder that it does not concern"
            ) from None
        return None if found is None else RegexMatchResult(cast("re.Match[str]", found))
