"""The rows that provider tables are made of: what a code or a known text means."""

from collections.abc import Callable

from msgspec.structs import replace

from stoic.core.classify.fields import fold
from stoic.core.failures import Axis, FailureClass
from stoic.records import Json, Record


class Mark(Record, frozen=True):
    """What a code, a text or a status means."""

    failure: FailureClass
    axis: Axis | None = None
    """None: the class's own."""
    category: str | None = None
    where: str | None = None
    scope: str | None = None
    firm: bool = True
    """Whether the code says it all; if not, a known text of the provider may say more."""
    waits: bool = True
    """Whether a stated wait is to be believed."""


class Words(Record, frozen=True):
    """A text that one provider is known to use.

    Named groups carry numbers: `limit` with `requested` make the row apply only if more was requested than the limit;
    `limit` with `input` tell whether a smaller `max_tokens` alone is enough; `most` is the largest one allowed. A group
    `category` is the word for a refusal's category.
    """

    pattern: str
    mark: Mark
    statuses: tuple[int, ...] = ()
    """Statuses under which the row applies; empty: any. An error without a status, as in a stream, fits every row."""


class ErrorObject(Record, frozen=True):
    """One error as a provider wrote it, wherever it sat."""

    path: str
    """Where it stands, such as `body.error`."""
    data: dict[str, Json]
    codes: list[tuple[str, str]]
    """(field, value), the most specific first."""
    message: str = ""
    message_field: str = ""
    status: int | None = None
    """The HTTP status, or the one the error itself names."""
    around: dict[str, Json] = {}
    """The object that holds it under `error`."""
    written: "list[ErrorObject] | None" = None
    """The errors inside its message; None: nobody has looked for them."""


class Finding(Record, frozen=True):
    """A mark with the field that said so."""

    mark: Mark
    field: str
    value: str
    limit_tokens: int | None = None
    by_text: bool = False
    """Whether only a known text said so."""


Reader = Callable[[ErrorObject], Finding | None]
Opener = Callable[[ErrorObject], list[tuple[ErrorObject, str]]]


class Family(Record, frozen=True, eq=False):
    """What is known of one provider, or of providers that are one service; equal to itself alone, as a cache's key."""

    codes: dict[str, Mark] = {}
    """By folded code; they come before the shared ones."""
    words: tuple[Words, ...] = ()
    finishes: dict[str, Mark] = {}
    """By lower-case finish reason; they come before the shared ones."""
    statuses: dict[int, Mark] = {}
    read: Reader | None = None
    """Reads structure that codes alone do not hold; comes first."""
    open: Opener | None = None
    """Of a gateway: returns the errors of other providers inside its own, each with that provider's name."""
    compatible: bool = False
    """Of a name that stands for any compatible server: an answer may show whose server it is."""
    zone_hours: int = 0
    """The zone of dates it states without one, as hours east of UTC."""


def codes(**names: str) -> dict[str, Mark]:
    """Build a table of codes from `class="code code …"`; the names are those of this module's marks in lower case."""
    return {fold(code): MARKS[name] for name, listed in names.items() for code in listed.split()}


def refused(category: str | None = None, *, where: str | None = None, scope: str | None = None) -> Mark:
    """Return the mark of a refusal."""
    return Mark(failure=FailureClass.REFUSAL, category=category, where=where, scope=scope)


NETWORK = Mark(failure=FailureClass.NETWORK)
NETWORK_CONFIG = Mark(failure=FailureClass.NETWORK, axis=Axis.CONFIG)
TIMEOUT = Mark(failure=FailureClass.TIMEOUT)
OVERLOADED = Mark(failure=FailureClass.OVERLOADED)
SERVER_ERROR = Mark(failure=FailureClass.SERVER_ERROR)
SERVER_CONFIG = Mark(failure=FailureClass.SERVER_ERROR, axis=Axis.CONFIG)
RATE_LIMIT = Mark(failure=FailureClass.RATE_LIMIT)
TRUNCATED = Mark(failure=FailureClass.TRUNCATED_STREAM)
QUOTA = Mark(failure=FailureClass.QUOTA)
QUOTA_CONFIG = Mark(failure=FailureClass.QUOTA, axis=Axis.CONFIG)
QUOTA_TIME = Mark(failure=FailureClass.QUOTA, axis=Axis.TIME)
QUOTA_DAY = Mark(failure=FailureClass.QUOTA, axis=Axis.TIME, waits=False)
AUTH = Mark(failure=FailureClass.AUTH)
AUTH_CONFIG = Mark(failure=FailureClass.AUTH, axis=Axis.CONFIG)
PERMISSION = Mark(failure=FailureClass.PERMISSION)
PERMISSION_TIME = Mark(failure=FailureClass.PERMISSION, axis=Axis.TIME)
MODEL_NOT_FOUND = Mark(failure=FailureClass.MODEL_NOT_FOUND)
CONTEXT_LENGTH = Mark(failure=FailureClass.CONTEXT_LENGTH)
INVALID_REQUEST = Mark(failure=FailureClass.INVALID_REQUEST)
INVALID_CONFIG = Mark(failure=FailureClass.INVALID_REQUEST, axis=Axis.CONFIG)
BAD_SCHEMA = Mark(failure=FailureClass.BAD_SCHEMA)
IMAGE_TOO_LARGE = Mark(failure=FailureClass.IMAGE_TOO_LARGE)
HISTORY_CORRUPT = Mark(failure=FailureClass.HISTORY_CORRUPT)
SIGNATURE_INVALID = Mark(failure=FailureClass.SIGNATURE_INVALID)
MALFORMED_TOOL_CALL = Mark(failure=FailureClass.MALFORMED_TOOL_CALL)
OUTPUT_LIMIT = Mark(failure=FailureClass.OUTPUT_LIMIT)
EMPTY_RESPONSE = Mark(failure=FailureClass.EMPTY_RESPONSE)
CANCELLED = Mark(failure=FailureClass.CANCELLED)
UNKNOWN = Mark(failure=FailureClass.UNKNOWN)
REFUSED = refused()


def soft(mark: Mark) -> Mark:
    """Return the mark as one that a known text may overrule."""
    return replace(mark, firm=False)


MARKS: dict[str, Mark] = {
    "timeout": TIMEOUT,
    "overloaded": OVERLOADED,
    "soft_overloaded": soft(OVERLOADED),
    "server_error": SERVER_ERROR,
    "soft_server_error": soft(SERVER_ERROR),
    "rate_limit": RATE_LIMIT,
    "soft_rate_limit": soft(RATE_LIMIT),
    "quota": QUOTA,
    "quota_config": QUOTA_CONFIG,
    "quota_time": QUOTA_TIME,
    "auth": AUTH,
    "permission": PERMISSION,
    "permission_time": PERMISSION_TIME,
    "soft_permission": soft(PERMISSION),
    "model_not_found": MODEL_NOT_FOUND,
    "soft_model_not_found": soft(MODEL_NOT_FOUND),
    "context_length": CONTEXT_LENGTH,
    "soft_context_length": soft(CONTEXT_LENGTH),
    "invalid_request": INVALID_REQUEST,
    "soft_invalid_request": soft(INVALID_REQUEST),
    "invalid_config": INVALID_CONFIG,
    "bad_schema": BAD_SCHEMA,
    "image_too_large": IMAGE_TOO_LARGE,
    "history_corrupt": HISTORY_CORRUPT,
    "signature_invalid": SIGNATURE_INVALID,
    "malformed_tool_call": MALFORMED_TOOL_CALL,
    "output_limit": OUTPUT_LIMIT,
    "cancelled": CANCELLED,
    "refused": REFUSED,
    "refused_account": refused(scope="account"),
    "refused_copyright": refused("copyright_or_output_filter"),
    "refused_filter": refused("moderation"),
    "refused_guardrail": refused("guardrail"),
    "refused_image": refused("image"),
    "refused_sensitive": refused("sensitive"),
}
"""The marks by name, for `codes`."""
