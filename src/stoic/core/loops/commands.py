"""Reads shell commands as far as the loop rules need it: spacing, what a command does, and whom it addresses."""

from functools import cache, lru_cache

from stoic.core.loops.observation import Doing
from stoic.core.loops.words import named, pattern

_WORD = r"""(?:[^\s'"\\;|&<>]+|'[^']*'|"(?:\\.|[^"\\])*"|\\.|['"\\])+"""
_LEXEME = rf"\d*>&\d+|[ \t]+|\n|&&|\|\||[;|&<>]|{_WORD}"
_SIMPLE_LEXEME = rf"{_WORD}|\n|&&|\|\||[;|&]"
_ENDS = frozenset(("\n", "&&", "||", ";", "|", "&"))
"""What ends one part of a list or pipeline."""

_READING = named(
    "cat ls grep egrep fgrep rg ag find fd head tail less more wc sort uniq cut awk tr nl tac file stat du df ps top free "
    "which whereis type pwd env printenv date uptime whoami id uname hostname echo printf test [ true false cd tree diff "
    "cmp md5sum sha256sum jq yq column xxd hexdump strings nproc lsof netstat ss ping dig nslookup host history "
    "man help pytest tox nox jest vitest mocha rspec phpunit ctest ruff mypy pyright flake8 pylint eslint tsc "
    "open goto scroll_down scroll_up search_dir search_file find_file journalctl dmesg"
)
_WRITING = named(
    "mv cp rm mkdir rmdir touch chmod chown ln tee patch apply_patch install pip pip3 apt apt-get dd truncate rsync unzip "
    "kill pkill killall edit create insert"
)
_SUBCOMMANDS = {
    "git": {
        "read": "status log diff show branch remote blame grep ls-files rev-parse describe reflog shortlog",
        "write": "add commit mv rm checkout switch restore reset apply am merge rebase cherry-pick revert stash clean "
        "push pull fetch clone init tag",
    },
    "cargo": {"read": "test check clippy tree metadata", "write": "add remove install update fix"},
    "go": {"read": "test vet list env version", "write": "get install mod"},
    "npm": {"read": "test t ls list outdated view", "write": "install i ci uninstall update"},
    "mvn": {"read": "test verify", "write": "deploy install"},
    "gradle": {"read": "test check", "write": "publish"},
    "make": {"read": "test check lint", "write": "install"},
    "docker": {"read": "ps logs images inspect stats top", "write": "start stop restart rm rmi kill pull push"},
    "kubectl": {"read": "get describe logs top explain", "write": "apply delete create scale patch edit"},
    "systemctl": {"read": "status list-units is-active show", "write": "start stop restart reload enable disable"},
    "str_replace_editor": {"read": "view", "write": "create str_replace insert undo_edit"},
    "svc": {"read": "list status", "write": "start stop restart"},
}
_names = cache(named)
_TOLD_BY_OPTIONS = named("sleep sed curl wget python python3")
_SENDING = named("-d -X -F -T --request --post-data --post-file --upload-file --form")
_WRAPPERS = named("sudo time nohup command exec env stdbuf nice")
_REMOTE = named("ssh scp sftp rsync")
_REMOTE_OPTIONS_WITH_VALUE = named("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -P -Q -R -S -W -w")


def squeeze(command: str) -> str:
    """Collapse blanks outside quotes to one and drop them at the ends; the command means the same."""
    command = command.strip()
    if "  " not in command and command.isprintable():
        return command  # there is nothing to collapse, as in most commands
    if _is_plain(command):
        return " ".join(command.split())
    return "".join([" " if lexeme.isspace() and lexeme != "\n" else lexeme for lexeme in _lexemes(command)])


def doing(command: str) -> Doing:
    """Tell what a command does; every part of a pipeline or list has a say, the strongest wins.

    A redirection into a file, `sed -i` and the commands that change files or services are writing; the common
    tools that only look, and test runners and linters, are reading; anything else may change something: `run`.
    """
    parts = _parts(command)
    if ">" in command and any(map(_redirects, parts)):
        return "write"
    found = {_part_doing(part[0], part[1:]) for part in parts}
    if "write" in found:
        return "write"
    if "run" in found or not found:
        return "run"
    return "wait" if found == {"wait"} else "read"


def addressee(command: str) -> str:
    """Name whom a command addresses, leaving out options: its program and host, or its program and plain words."""
    link = pattern(r"https?://([^/\s'\"]+)").search(command) if "://" in command else None
    parts = _parts(command)
    if not parts:
        return ""
    program, *told = parts[0]
    if link:
        return f"{program} {link[1].lower()}"
    if program in _REMOTE:
        return " ".join([program, *_remote(told)])
    return " ".join([program, *[word for word in told if not word.startswith("-") and "=" not in word]])


def _remote(told: list[str]) -> list[str]:
    """Return the host among the words after a program that works on another one, if there is any."""
    skip = False
    for word in told:
        if skip:
            skip = False
        elif word in _REMOTE_OPTIONS_WITH_VALUE:
            skip = True
        elif not word.startswith("-") and "=" not in word:
            return [word.split("@")[-1].split(":")[0]]
    return []


def _is_plain(command: str) -> bool:
    """Tell whether a command is a single one without quotes, redirections, groups and the like."""
    return pattern(r"[\w ./:=@%+,~^*?#!$\[\]-]*").fullmatch(command) is not None


@lru_cache(maxsize=4)
def _lexemes(command: str) -> list[str]:
    """Split a command; the last ones are remembered, since each is read for its spacing and for its parts."""
    return pattern(_LEXEME).findall(command)


@lru_cache(maxsize=4)
def _parts(command: str) -> list[list[str]]:
    """Return the words of each part of a list or pipeline, wrappers and assignments dropped, redirections marked.

    The last ones are remembered, since each command is read for its deeds and for its addressee.
    """
    split = [command.split()] if _is_plain(command) else _split(command.strip())
    return [words for part in split if (words := _unwrapped(part))]


def _split(command: str) -> list[list[str]]:
    """Return the words of each part, as they stand there but for the marks of groups."""
    parts = _split_simply(command) if _is_simple(command) else _split_with_redirections(command)
    grouped = "(" in command or ")" in command or "{" in command or "}" in command
    return [_ungrouped(part) for part in parts] if grouped else parts


def _is_simple(command: str) -> bool:
    """Tell whether what parts the words of a command is only blanks, ends of lines and the ends of its parts."""
    return "<" not in command and ">" not in command and command.replace("\n", " ").isprintable()


def _split_simply(command: str) -> list[list[str]]:
    """Split a simple command, in which each lexeme is a word or an end."""
    part: list[str] = []
    parts = [part]
    for lexeme in pattern(_SIMPLE_LEXEME).findall(command):
        if lexeme in _ENDS:
            part = []
            parts.append(part)
        else:
            part.append(lexeme)
    return parts


def _split_with_redirections(command: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    word = ""
    for lexeme in (*_lexemes(command), "\n"):
        if lexeme in _ENDS or lexeme.isspace():
            if word:
                parts[-1].append(word)
                word = ""
            if lexeme in _ENDS:
                parts.append([])
        elif lexeme in {"<", ">"} and not word.endswith(lexeme):
            if word and not word.isdigit():
                parts[-1].append(word)
            word = lexeme
        elif ">&" not in lexeme:
            word += lexeme
    return parts


def _unwrapped(part: list[str]) -> list[str]:
    """Drop wrappers and assignments from a part, and the folder from its program."""
    index = 0
    while index < len(part):
        word = part[index]
        if word in _WRAPPERS or ("=" in word and pattern(r"[A-Za-z_]\w*=").match(word)):
            index += 1
        elif word == "timeout":
            index += 2
        else:
            break
    words = part[index:]
    if words and "/" in words[0]:
        words[0] = words[0].rsplit("/", 1)[-1]
    return words


def _ungrouped(part: list[str]) -> list[str]:
    """Drop the marks of a subshell or group around a part: `(cd x` or `ls)`."""
    bare = [word.lstrip("(") if place == 0 else word for place, word in enumerate(part)]
    if bare and "(" not in bare[-1]:
        bare[-1] = bare[-1].rstrip(")")
    return [word for word in bare if word and word not in {"{", "}"}]


def _part_doing(program: str, rest: list[str]) -> Doing:
    """Tell what a part does that redirects nothing into a file."""
    if program in _SUBCOMMANDS:
        return _subcommand_doing(program, rest)
    if program in _TOLD_BY_OPTIONS:
        return _doing_by_options(program, rest)
    if program in _WRITING:
        return "write"
    return "read" if program in _READING else "run"


def _doing_by_options(program: str, rest: list[str]) -> Doing:
    """Tell what those programs do that look or change depending on an option."""
    if program == "sleep":
        return "wait"
    if program == "sed":
        return "write" if any(word.startswith(("-i", "--in-place")) for word in rest) else "read"
    if program in {"curl", "wget"}:
        sends = any(word in _SENDING or word.startswith("--data") for word in rest)
        return "run" if sends else "read"
    return "read" if rest[:2] == ["-m", "pytest"] else "run"


def _subcommand_doing(program: str, rest: list[str]) -> Doing:
    subcommand = next((word for word in rest if not word.startswith("-")), "")
    table = _SUBCOMMANDS[program]
    if subcommand in _names(table["read"]):
        return "read"
    return "write" if subcommand in _names(table["write"]) else "run"


def _redirects(words: list[str]) -> bool:
    """Tell whether a word redirects output into a file."""
    for index, word in enumerate(words):
        if word in {">", ">>"}:
            target = words[index + 1] if index + 1 < len(words) else ""
        elif word.startswith(">"):
            target = word.lstrip(">")
        else:
            continue
        if target and not target.startswith("/dev/"):
            return True
    return False
