"""SGLang's OpenAI-compatible server."""

from stoic.core.classify.families.grammar import CONTEXT, HISTORY
from stoic.core.classify.rules import BAD_SCHEMA, CONTEXT_LENGTH, OVERLOADED, SERVER_CONFIG, Family, Words

_N = r"[\d,]+"

FAMILY = Family(
    words=(
        Words(
            pattern=rf"maximum context length of (?P<limit>{_N}) tokens.{{0,120}}?: (?P<input>{_N}) tokens from the input",
            mark=CONTEXT_LENGTH,
        ),
        Words(
            pattern=r"longer than the model's context length|exceeds the maximum allowed length|Requested token count exceeds",
            mark=CONTEXT_LENGTH,
        ),
        *CONTEXT,
        *HISTORY,
        Words(
            pattern=r"queue is full|queue.{0,20}limit|too many (?:pending )?requests|aborted by a higher priority request",
            mark=OVERLOADED,
        ),
        Words(pattern=r"grammar|json ?schema", mark=BAD_SCHEMA, statuses=(400,)),
        Words(pattern=r"out of memory", mark=SERVER_CONFIG),
    ),
)
