"""Reads names: splits identifiers into words, and knows which words say what."""

import re
from functools import cache, lru_cache

REMEMBERED_CHARACTERS = 64
"""Names up to this length are split once; tools and their fields have few, and longer ones would fill the memory."""


@cache
def pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Compile an expression at its first use, so that importing the detector costs nothing."""
    return re.compile(expression, flags)


def words(name: str) -> tuple[str, ...]:
    """Split an identifier into lower-case words: `mcp__ci__getJobStatus` gives `get`, `job`, `status`.

    Only the last part of a qualified name (`server__tool`, `server.tool`, `server/tool`, `server:tool`) counts.
    """
    return _split(name) if len(name) <= REMEMBERED_CHARACTERS else _split.__wrapped__(name)


@lru_cache(maxsize=1024)
def _split(name: str) -> tuple[str, ...]:
    last = pattern(r"__|[./:]").split(name.strip("_./: "))[-1]
    spaced = pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])").sub(" ", last)
    return tuple(word.lower() for word in pattern(r"[^\W_]+").findall(spaced))


def named(text: str) -> frozenset[str]:
    """Return the names of a text as a set."""
    return frozenset(text.split())


READ = named(
    "read get list search find grep rg glob ls cat view show fetch lookup query describe inspect browse load retrieve "
    "recall count head diff stat check open explore scan crawl select peek monitor preview extract examine"
)
SEND = named(
    "send post publish notify message email reply tweet comment dm invite broadcast announce sms mail emit trigger "
    "dispatch deliver forward"
)
CREATE = named(
    "create add insert upload submit book schedule register new enqueue append place reserve order buy purchase pay charge"
)
WRITE = CREATE | named(
    "write edit delete remove update replace patch move rename copy set put save store upsert modify undo make mkdir "
    "assign close clear reset rm mv cp touch chmod fill type"
)
ACT = named(
    "apply commit push merge deploy restart start stop cancel kill install sync reload refresh migrate click press "
    "drag hover navigate goto approve release enable disable build compile rollback rebase checkout pull"
)
EXEC = named(
    "bash shell exec execute run terminal command cmd python ipython powershell console repl eval interpreter test tests"
)
WAIT = named("wait sleep await")

TAKE = named("receive pop dequeue claim lease take consume drain")
"""What hands out the next of something: neither a read that may be repeated nor a creation."""

NOUNS = (
    SEND | EXEC | named("book schedule release build list view count diff scan load log new stop order charge place")
)
"""Verbs that are as often nouns; in a name they give way to any plain verb."""
VERBS = READ | WRITE | ACT | SEND | EXEC | TAKE
PLAIN = named("get list search find read fetch create delete update add remove send write edit query lookup show view")

POLL = named("poll status state progress output logs tail watch heartbeat health pending eta")
WATCH = named("poll watch tail")
DEEDS = ACT - named("apply commit push enable disable approve click press drag hover navigate goto") | named(
    "upload copy move order"
)
"""Work whose name before a word such as `status` is a noun: `build_status` asks, `update_status` writes."""
OPENED = named("issue ticket case incident pr pull dispute")
"""What `open` creates."""
POLLED = named(
    "task tasks job jobs build builds run runs pipeline pipelines deployment deployments workflow workflows process "
    "processes training execution executions operation operations queue inbox mailbox notification notifications "
    "event events log agents rollout migration backup export import transfer terminal console stream batch batches "
    "download upload updates"
)
POLLING = named("get list read show describe fetch check view inspect query monitor peek")

BOOKKEEPING = named(
    "note notes todo todos plan plans memory remember journal scratchpad think thought thinking reflect log"
)

TRACED = named("request requests trace traces span spans incident incidents invocation invocations")
"""In the name of a tool that looks or takes they say that such ids are the data, not noise."""

TIME = named("time datetime timestamp clock date now today")
