"""Reads an exception and its cause chain: which class it is, or which error of a provider it carries."""

import re

from stoic.core.classify.error_objects import in_body, in_message
from stoic.core.classify.fields import number, text, word
from stoic.core.classify.rules import (
    AUTH,
    AUTH_CONFIG,
    CANCELLED,
    INVALID_CONFIG,
    MALFORMED_TOOL_CALL,
    NETWORK,
    NETWORK_CONFIG,
    OUTPUT_LIMIT,
    PERMISSION,
    SERVER_ERROR,
    TIMEOUT,
    TRUNCATED,
    UNKNOWN,
    ErrorObject,
    Finding,
    Mark,
    refused,
)
from stoic.records import ExceptionFact

_CANCELLED = frozenset({"CancelledError", "Cancelled", "KeyboardInterrupt", "UserAbortError", "APIUserAbortError"})
_TIMED_OUT = re.compile(r"(?:Timeout|TimedOut|DeadlineExceeded)(?:Error|Exception)?$")
_NETWORK = frozenset(
    [
        "ReadError",
        "WriteError",
        "CloseError",
        "TransportError",
        "RemoteProtocolError",
        "ConnectionResetError",
        "ConnectionAbortedError",
        "ConnectionRefusedError",
        "BrokenPipeError",
        "gaierror",
        "herror",
        "ConnectionClosedError",
        "HTTPClientError",
        "IncompleteRead",
        "IncompleteReadError",
        "RemoteDisconnected",
        "ChunkedEncodingError",
        "ClientOSError",
        "ClientConnectionResetError",
        "ClientPayloadError",
        "TransferEncodingError",
        "MaxRetryError",
        "ProtocolError",
        "NameResolutionError",
        "EndOfStream",
        "BrokenResourceError",
        "ClosedResourceError",
        "SSLEOFError",
        "SSLZeroReturnError",
        "ProxyError",
        "ProxySchemeUnknown",
        "ConnectionClosed",
        "ConnectionClosedOK",
        "WebSocketConnectionClosedError",
        "ClientHttpProxyError",
        "ResponseStreamingError",
        "StreamError",
        "StreamClosed",
        "StreamReset",
        "DataLossError",
    ]
)
_NETWORK_LIKE = re.compile(r"(?:Connect|Connection|Connector\w*|Disconnected|Network|Socket|SSL)Error$")
_OS_ERRORS = re.compile(
    r"\[Errno -?\d+\]|Connection (?:refused|reset|aborted)|Network is unreachable|No route to host|Broken pipe|"
    r"Name or service not known|Temporary failure in name resolution|nodename nor servname",
    re.IGNORECASE,
)
_OWN_LIMITS = re.compile(r"\[Errno (?:12|23|24|28)\]")
"""No memory, no file descriptors, no space: this machine's limits."""
_CERTIFICATE = re.compile(
    r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|SSLCertVerification|CertificateError|"
    r"Hostname mismatch|WRONG_VERSION_NUMBER|UNSUPPORTED_PROTOCOL|TLSV1_ALERT_PROTOCOL_VERSION|self.signed certificate",
    re.IGNORECASE,
)
_DECODING = frozenset(
    {"JSONDecodeError", "DecodeError", "DecodingError", "ContentDecodingError", "APIResponseValidationError"}
)
_NO_CREDENTIALS = frozenset(
    [
        "NoCredentialsError",
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "TokenRetrievalError",
        "SSOTokenLoadError",
        "UnauthorizedSSOTokenError",
        "DefaultCredentialsError",
        "RefreshError",
        "ClientAuthenticationError",
        "OAuthError",
        "CredentialUnavailableError",
        "SubjectTokenProviderError",
        "NoAuthTokenError",
    ]
)
_CREDENTIALS_CONFIG = frozenset({"NoRegionError", "ProfileNotFound", "InvalidRegionError", "ConfigParseError"})
_KEY_WORDS = re.compile(
    r"api_key client option must be set|Could not resolve authentication method|Illegal header value b?['\"]?Bearer|"
    r"[Nn]o API[_ ]key|Missing key inputs argument",
)
"""What the SDKs say before any request when no key is set; openai, anthropic and google-genai have no type for it."""
_BAD_ADDRESS = frozenset(
    {"UnsupportedProtocol", "InvalidURL", "MissingSchema", "InvalidSchema", "NonHttpUrlClientError", "TooManyRedirects"}
)
_BUGS = frozenset(
    [
        "TypeError",
        "AttributeError",
        "KeyError",
        "IndexError",
        "NameError",
        "UnboundLocalError",
        "AssertionError",
        "ImportError",
        "ModuleNotFoundError",
        "NotImplementedError",
        "ZeroDivisionError",
        "RecursionError",
        "SyntaxError",
    ]
)
_NAME_CHARACTERS = 200
"""So much of an exception's name is read: patterns look for its end from each of its words."""
_OWN_MARKS: dict[str, Mark] = {
    "LengthFinishReasonError": OUTPUT_LIMIT,
    "ContentFilterFinishReasonError": refused(where="completion"),
    "BlockedPromptException": refused(where="prompt"),
    "StopCandidateException": refused(where="completion"),
    "IncompleteToolCall": MALFORMED_TOOL_CALL,
}
_STATUS_NAMES: dict[str, int] = {
    "BadRequestError": 400, "InvalidArgument": 400, "InvalidRequestError": 400, "AuthenticationError": 401,
    "Unauthenticated": 401, "UnauthorizedError": 401, "PaymentRequiredError": 402, "PermissionDeniedError": 403,
    "PermissionDenied": 403, "ForbiddenError": 403, "NotFoundError": 404, "NotFound": 404, "ConflictError": 409,
    "RequestTooLargeError": 413, "UnprocessableEntityError": 422, "RateLimitError": 429, "TooManyRequestsError": 429,
    "TooManyRequests": 429, "ResourceExhausted": 429, "InternalServerError": 500, "ServiceUnavailableError": 503,
    "ServiceUnavailable": 503, "DeadlineExceededError": 504, "OverloadedError": 529, "BadGatewayError": 502,
    "APIStatusError": 0, "APIError": 0, "APIResponseError": 0, "ClientError": 0, "ServerError": 0, "SDKError": 0,
    "HTTPStatusError": 0, "ApiError": 0, "MistralError": 0, "HfHubHTTPError": 0, "HTTPError": 0, "ModelHTTPError": 0,
    "ContextWindowExceededError": 400, "ContentPolicyViolationError": 400, "BudgetExceededError": 400,
    "ResponseError": 0, "EventStreamError": 0, "ParamValidationError": 400, "MidStreamFallbackError": 503, "Timeout": 408,
}  # fmt: skip
"""Exceptions that stand for an HTTP status; 0: the status stands elsewhere."""
_STATUS_TEXT = re.compile(
    r"(?:Error code: |status[_ ]code[:= ]+|HTTP/?\d?\.?\d? |^|[Cc]lient error '|[Ss]erver error ')([45]\d\d)\b"
)
_BOTO = re.compile(r"An error occurred \((\w+)\)")
_GRPC = re.compile(r"StatusCode\.([A-Z_]+)")
"""How botocore and grpc write the service's code into the text."""


def carried_errors(exception: ExceptionFact, status: int | None) -> list[ErrorObject]:
    """Return the provider's errors that an exception of an SDK carries, also as a cause; none if there are none.

    Args:
        exception: The exception. A bug's exception carries nothing, whatever was being handled.
        status: The HTTP status of the exchange, if known.
    """
    if _last(exception.type) in _BUGS:
        return []
    found = _carried_by(exception, "exception", status)
    for index, (name, message) in enumerate(_causes(exception)):
        found = found or _carried_by(ExceptionFact(type=name, message=message), f"exception.cause[{index}]", None)
    return found


def _carried_by(exception: ExceptionFact, path: str, status: int | None) -> list[ErrorObject]:
    found_status = _status(exception, status)
    written = in_message(exception.message, f"{path}.message", found_status)

    def carried(codes: list[tuple[str, str]]) -> ErrorObject:
        return ErrorObject(
            path=path,
            data={},
            codes=codes,
            message=exception.message,
            message_field=f"{path}.message",
            status=found_status,
            written=written,
        )

    found = [*in_body(exception.fields.get("body"), found_status or 400), *written]
    own = _own_codes(exception, path)
    if own:
        found.append(carried(own))
    named = _BOTO.search(exception.message) or _GRPC.search(exception.message)
    if named:
        found.append(carried([(f"{path}.message", named[1])]))
    elif not found and found_status is not None:
        found.append(carried([(f"{path}.type", _last(exception.type))]))
    return found


def _causes(exception: ExceptionFact) -> list[tuple[str, str]]:
    parted = (cause.partition(":") for cause in exception.cause)
    return [(name.strip(), message.strip()) for name, _, message in parted]


def _own_codes(exception: ExceptionFact, path: str) -> list[tuple[str, str]]:
    """Return what the exception's own attributes name, such as `code` or `error_type`."""
    return [
        (f"{path}.{key}", code)
        for key in ("error_code", "code", "error_type")
        if (code := word(exception.fields.get(key)))
    ]


def _status(exception: ExceptionFact, status: int | None) -> int | None:
    """Return the HTTP status that an exception stands for; a success is none."""
    named = number(
        exception.fields.get("status_code") or exception.fields.get("status") or exception.fields.get("code")
    )
    if named is None:
        named = _STATUS_NAMES.get(_last(exception.type)) or status
    if not named and _last(exception.type) in _STATUS_NAMES:
        matched = _STATUS_TEXT.search(exception.message[:400])
        named = int(matched[1]) if matched else None
    return int(named) if named and 400 <= named < 600 else None  # noqa: PLR2004 -- the error statuses of HTTP


def judge(exception: ExceptionFact) -> Finding:
    """Return what an exception means that carries no provider's error."""
    chain = [(exception.type, "exception.type", exception.message)]
    for index, (name, message) in enumerate(_causes(exception)):
        chain.append((name, f"exception.cause[{index}]", message))
    for judge_link in (_cancelled, _certificate, _proxy, _missing_key, _bug, _by_name, _by_os_message):
        # The deepest cause is the most exact: an APIConnectionError may hold a timeout.
        for name, field, message in chain[:1] if judge_link is _bug else reversed(chain):
            mark = judge_link(_last(name), message, exception)
            if mark is not None:
                return Finding(mark=mark, field=field, value=name)
    return Finding(mark=UNKNOWN, field="exception.type", value=exception.type)


def is_cancelled(exception: ExceptionFact) -> bool:
    """Return whether the exception says that somebody stopped the request."""
    return _last(exception.type) in _CANCELLED


def _last(name: str) -> str:
    return name.rpartition(".")[2][:_NAME_CHARACTERS]


def _cancelled(name: str, _message: str, _exception: ExceptionFact) -> Mark | None:
    return CANCELLED if name in _CANCELLED else None


def _certificate(name: str, message: str, _exception: ExceptionFact) -> Mark | None:
    return NETWORK_CONFIG if _CERTIFICATE.search(f"{name}: {message}") else None


def _proxy(name: str, message: str, _exception: ExceptionFact) -> Mark | None:
    """A proxy that answers with a 4xx wants a setting changed; one that cannot be reached may come back."""
    return PERMISSION if "Proxy" in name and re.search(r"\b40[1-7]\b", message) else None


def _missing_key(name: str, message: str, _exception: ExceptionFact) -> Mark | None:
    if name in _NO_CREDENTIALS or _KEY_WORDS.search(message):
        return AUTH
    return AUTH_CONFIG if name in _CREDENTIALS_CONFIG else None


def _bug(name: str, _message: str, _exception: ExceptionFact) -> Mark | None:
    """A bug's exception is a bug, whatever was being handled when it was raised."""
    return UNKNOWN if name in _BUGS else None


def _by_name(name: str, _message: str, exception: ExceptionFact) -> Mark | None:
    if name in _OWN_MARKS:
        return _OWN_MARKS[name]
    if _TIMED_OUT.search(name) or name == "timeout":
        return TIMEOUT
    if name in _NETWORK or _NETWORK_LIKE.search(name):
        return NETWORK
    if name in _BAD_ADDRESS:
        return INVALID_CONFIG
    if name in _DECODING:
        return TRUNCATED if exception.after_first_byte else SERVER_ERROR
    return None


def _by_os_message(name: str, message: str, _exception: ExceptionFact) -> Mark | None:
    """An operating system's error keeps its number in the text when the type is only `OSError`."""
    if name not in {"OSError", "IOError", "error"}:
        return None
    if _OWN_LIMITS.search(message):
        return NETWORK_CONFIG
    return NETWORK if _OS_ERRORS.search(message) else None


def from_fields(value: dict[str, object]) -> ExceptionFact:
    """Build the fact from a recorded exception: `type`, `message`, `cause`, `after_first_byte` and its own fields."""
    cause = value.get("cause")
    causes = [cause] if isinstance(cause, str) else [text(one) for one in cause] if isinstance(cause, list) else []  # pyright: ignore[reportUnknownVariableType] -- elements are checked by text()
    known = {"type", "message", "cause", "after_first_byte"}
    return ExceptionFact(
        type=text(value.get("type")),
        message=text(value.get("message")),
        cause=[one for one in causes if one],
        after_first_byte=value.get("after_first_byte") is True,
        fields={key: field for key, field in value.items() if key not in known},
    )
