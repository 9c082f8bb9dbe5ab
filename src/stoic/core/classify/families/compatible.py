"""Any server that speaks Chat Completions: nothing is known of it but what its answers show."""

from stoic.core.classify.rules import OVERLOADED, SERVER_ERROR, UNKNOWN, Family, Words

FAMILY = Family(
    words=(
        # Whether a 403 forbids the caller or refuses the content, only its provider's own table tells. A refusal taken
        # for a missing permission would be sent to the next provider, which no refusal may be.
        Words(
            pattern=r"flagged|moderat|guardrail|safety|polic(?:y|ies)|inappropriate|sensitive|prohibited|harmful|violat|敏感|违规",
            mark=UNKNOWN,
            statuses=(403,),
        ),
    ),
    finishes={"insufficient_system_resource": OVERLOADED, "network_error": SERVER_ERROR},  # DeepSeek, Zhipu
    compatible=True,
)
