"""Sentences that several compatible servers share word for word; a table lists them only if its provider uses them."""

from stoic.core.classify.rules import CONTEXT_LENGTH, HISTORY_CORRUPT, INVALID_REQUEST, Words

_N = r"[\d,]+"

CONTEXT: tuple[Words, ...] = (
    Words(
        pattern=rf"maximum context length is (?P<limit>{_N}) tokens.{{0,160}}?\(?(?P<input>{_N}) (?:in the messages|of text input|from the input messages|in your prompt|tokens? from the input)",
        mark=CONTEXT_LENGTH,
    ),
    Words(
        pattern=rf"maximum context length is (?P<limit>{_N}) tokens and your request has (?P<input>{_N}) input tokens",
        mark=CONTEXT_LENGTH,
    ),
    Words(pattern=r"maximum context length (?:is|of)|exceeds? (?:the |this )?(?:model'?s? )?(?:maximum )?context (?:length|window)", mark=CONTEXT_LENGTH),
)  # fmt: skip
"""How OpenAI and the servers modelled on it state an overflow, with the numbers where given."""

LARGER_THAN_LIMIT: tuple[Words, ...] = (
    Words(
        pattern=rf"\bLimit:? (?P<limit>{_N})\b.{{0,60}}?\bRequested:? (?P<requested>{_N})",
        mark=CONTEXT_LENGTH,
    ),
)
"""A request larger than the whole per-minute bucket: no wait can help."""

HISTORY: tuple[Words, ...] = (
    Words(pattern=r"['\"`]?tool_calls['\"`]? must be followed by tool messages|insufficient tool messages following", mark=HISTORY_CORRUPT),
    Words(pattern=r"tool['\"]? must be a (?:response|reply) to a prece+ding message (?:with|to have) ['\"]?tool_calls", mark=HISTORY_CORRUPT),
    Words(pattern=r"tool_call_ids? (?:did not have|is not found|not found)|No tool (?:output|call) found for", mark=HISTORY_CORRUPT),
    Words(pattern=r"roles? must alternate|successive user or assistant messages|alternat\w+ (?:between )?user", mark=HISTORY_CORRUPT),
)  # fmt: skip
"""Broken pairs of calls and results, and wrong orders of roles."""

MAX_TOKENS: tuple[Words, ...] = (
    Words(
        pattern=rf"max_(?:completion_)?tokens.{{0,40}}?too large.{{0,80}}?at most (?P<most>{_N})",
        mark=INVALID_REQUEST,
    ),
    Words(
        pattern=rf"max_(?:completion_)?tokens`?'? (?:must be|should be) (?:less than or equal to|at most|<=) `?(?P<most>{_N})",
        mark=INVALID_REQUEST,
    ),
    Words(
        pattern=rf"range of max_(?:completion_)?tokens (?:is|should be) \[\d+, ?(?P<most>{_N})\]", mark=INVALID_REQUEST
    ),
)
"""A wish for more output than the model gives: no overflow of the context."""
