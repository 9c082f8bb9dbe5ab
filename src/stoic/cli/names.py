"""Names that the command line gives: its agent's, and thread ids that people can read, say and type."""

from difflib import get_close_matches
from uuid import UUID

AGENT_NAME = "stoic"
"""Of the agent of the command line, in the threads it has made."""


def _words(text: str) -> list[str]:
    return text.split()


_QUALITIES = _words(
    "able amber bold brave brisk calm clear clever cool crisp deft eager early even fair fast fine fond frank fresh "
    "glad good grand green happy hardy honest keen kind large late light lively lucky mellow merry mild neat nimble "
    "noble patient plain proud quick quiet rapid ready round sharp silent silver smart smooth solid steady still "
    "strong sunny swift tidy true vivid warm wise"
)
_CREATURES = _words(
    "badger beaver bison bream cicada condor coral crane cricket curlew deer dolphin eagle egret falcon ferret finch "
    "fox gecko gull hare hawk heron ibex ibis jay kestrel kite koala lark lemur linnet lizard llama lynx magpie marten "
    "mole moth newt ocelot orca osprey otter owl panda pike plover puffin quail raven robin salmon seal shrew sparrow "
    "stork swan tern thrush toad trout vole wren"
)
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_TAIL_LENGTH = 6


def readable_id(unique: str) -> str:
    """Return an id such as `calm-otter-k3f9w2`, made from the random bits of a UUIDv7."""
    number = UUID(unique).int
    number, quality = divmod(number, len(_QUALITIES))
    number, creature = divmod(number, len(_CREATURES))
    tail: list[str] = []
    for _ in range(_TAIL_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        tail.append(_ALPHABET[digit])
    return f"{_QUALITIES[quality]}-{_CREATURES[creature]}-{''.join(tail)}"


def near(wanted: str, known: list[str]) -> list[str]:
    """Return up to three known ids that look like the wanted one."""
    beginnings = [name for name in known if name.startswith(wanted)][:3]
    return beginnings or get_close_matches(wanted, known, n=3, cutoff=0.5)
