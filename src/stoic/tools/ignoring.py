"""What the `.gitignore` files of a tree hide: each speaks for its folder and below, the deepest has the last word."""

from pathspec import GitIgnoreSpec

_ALWAYS = ".git"


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
    """Return the rules of a `.gitignore`; a line that is no pattern is left out, as git does."""
    lines = text.splitlines()
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines([line for line in lines if _is_pattern(line)])


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
