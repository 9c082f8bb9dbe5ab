"""The failure classes of SPEC §3 and what each recovers with by default (SPEC §1)."""

from enum import StrEnum


class Axis(StrEnum):
    """What a failure's cause would change with (SPEC §1)."""

    TIME = "time"
    """The cause fades by itself: wait by the clock, few times and bounded."""
    CREDENTIAL = "credential"
    """Somebody must replace or refill a credential."""
    CONFIG = "config"
    """Somebody must change a setting outside."""
    COMPACTION = "compaction"
    """The context must become smaller."""
    REQUEST_CHANGE = "request_change"
    """The request must become another one, changed once by the runtime."""
    MODEL = "model"
    """The model can choose differently once told."""
    BOUNDARY = "boundary"
    """The bytes must leave the request, or another judge must read them: a refusal."""
    HUMAN = "human"
    """Only a person can decide."""
    NEVER = "never"
    """Nothing helps: end, and say what happened."""


class FailureClass(StrEnum):
    """The name of a failure (SPEC §3); open at the edge through `unknown`."""

    NETWORK = "network"
    """No connection, or the connection died."""
    TIMEOUT = "timeout"
    """No answer in time."""
    OVERLOADED = "overloaded"
    """The provider has no capacity at the moment."""
    SERVER_ERROR = "server_error"
    """The provider broke while answering."""
    RATE_LIMIT = "rate_limit"
    """Too many requests or tokens in a window of time."""
    TRUNCATED_STREAM = "truncated_stream"
    """The answer ended without the protocol's own end."""
    QUOTA = "quota"
    """The account's money or allowance is used up."""
    AUTH = "auth"
    """The credential is missing, wrong or expired."""
    PERMISSION = "permission"
    """The credential may not do this."""
    MODEL_NOT_FOUND = "model_not_found"
    """The provider does not serve this model."""
    CONTEXT_LENGTH = "context_length"
    """The request is larger than the model's context window."""
    INVALID_REQUEST = "invalid_request"
    """The provider finds the request malformed."""
    BAD_SCHEMA = "bad_schema"
    """A tool's schema is not one this provider takes."""
    IMAGE_TOO_LARGE = "image_too_large"
    """An image is beyond the provider's limit."""
    HISTORY_CORRUPT = "history_corrupt"
    """The conversation breaks a rule of the API, such as a call without its result."""
    SIGNATURE_INVALID = "signature_invalid"
    """A replayed thinking signature is not accepted."""
    MALFORMED_TOOL_CALL = "malformed_tool_call"
    """The model produced a tool call that cannot be read."""
    OUTPUT_LIMIT = "output_limit"
    """The answer hit its length limit."""
    EMPTY_RESPONSE = "empty_response"
    """A normal end with neither visible text nor a tool call."""
    REFUSAL = "refusal"
    """A verdict on the request's bytes: an outcome, not an error."""
    CANCELLED = "cancelled"
    """Somebody stopped it."""
    UNKNOWN = "unknown"
    """Not known: shown, counted, never retried."""
    UNKNOWN_TOOL = "unknown_tool"
    """The model called a tool that does not exist."""
    BAD_ARGUMENTS = "bad_arguments"
    """The model's arguments do not fit the tool's schema."""
    TOOL_DENIED = "tool_denied"
    """A person or a rule did not allow the call."""
    TOOL_ERROR = "tool_error"
    """The tool raised."""
    TOOL_TIMEOUT = "tool_timeout"
    """The tool did not end in time."""
    STUCK_LOOP = "stuck_loop"
    """The agent repeats itself without news."""
    BUDGET_EXHAUSTED = "budget_exhausted"
    """A limit on rounds, tokens, cost or time is reached."""
    INTERRUPTED = "interrupted"
    """A turn that could not be resumed after a restart."""
    INTERNAL = "internal"
    """A bug of stoic itself."""


_TIME = "network timeout overloaded server_error rate_limit truncated_stream"
_REQUEST = (
    "invalid_request bad_schema image_too_large history_corrupt signature_invalid malformed_tool_call "
    "output_limit empty_response"
)
_MODEL = "unknown_tool bad_arguments tool_denied tool_error tool_timeout"

DEFAULT_AXIS: dict[FailureClass, Axis] = {
    **{FailureClass(name): Axis.TIME for name in _TIME.split()},
    **{FailureClass(name): Axis.REQUEST_CHANGE for name in _REQUEST.split()},
    **{FailureClass(name): Axis.MODEL for name in _MODEL.split()},
    FailureClass.QUOTA: Axis.CREDENTIAL,
    FailureClass.AUTH: Axis.CREDENTIAL,
    FailureClass.PERMISSION: Axis.CONFIG,
    FailureClass.MODEL_NOT_FOUND: Axis.CONFIG,
    FailureClass.CONTEXT_LENGTH: Axis.COMPACTION,
    FailureClass.REFUSAL: Axis.BOUNDARY,
    FailureClass.CANCELLED: Axis.NEVER,
    FailureClass.UNKNOWN: Axis.NEVER,
    FailureClass.INTERRUPTED: Axis.NEVER,
    FailureClass.INTERNAL: Axis.NEVER,
    FailureClass.STUCK_LOOP: Axis.HUMAN,
    FailureClass.BUDGET_EXHAUSTED: Axis.HUMAN,
}
"""What each class recovers with unless its evidence says otherwise (SPEC §3)."""
