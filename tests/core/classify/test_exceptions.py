"""Exceptions and their cause chains."""

import pytest

from stoic.core.classify import classify, report_from
from stoic.core.classify.exceptions import carried_errors
from stoic.records import ExceptionFact, Report, TextPart

RAISED = {
    ("builtins.TimeoutError", ""): ("timeout", "time"),
    ("aiohttp.client_exceptions.ServerDisconnectedError", "Server disconnected"): ("network", "time"),
    ("aiohttp.ClientPayloadError", "Response payload is not completed"): ("network", "time"),
    ("requests.exceptions.ChunkedEncodingError", "Connection broken"): ("network", "time"),
    ("requests.exceptions.ConnectTimeout", "x"): ("timeout", "time"),
    ("requests.exceptions.SSLError", "[SSL: CERTIFICATE_VERIFY_FAILED]"): ("network", "config"),
    ("urllib3.exceptions.ProtocolError", "Connection aborted."): ("network", "time"),
    ("http.client.IncompleteRead", "IncompleteRead(10 bytes read)"): ("network", "time"),
    ("ssl.SSLEOFError", "EOF occurred in violation of protocol"): ("network", "time"),
    ("ssl.SSLError", "[SSL: WRONG_VERSION_NUMBER] wrong version number"): ("network", "config"),
    ("socket.timeout", "timed out"): ("timeout", "time"),
    ("OSError", "[Errno 113] No route to host"): ("network", "time"),
    ("OSError", "something else"): ("unknown", "never"),
    ("httpx.PoolTimeout", ""): ("timeout", "time"),
    ("httpx.ProxyError", "403 Forbidden"): ("permission", "config"),
    ("httpx.ProxyError", "[Errno 111] Connection refused"): ("network", "time"),
    ("httpx.UnsupportedProtocol", "Request URL is missing an 'http://' or 'https://' protocol."): ("invalid_request", "config"),
    ("httpx.LocalProtocolError", "Illegal header value b'Bearer '"): ("auth", "credential"),
    ("openai.OpenAIError", "The api_key client option must be set"): ("auth", "credential"),
    ("TypeError", '"Could not resolve authentication method. Expected either api_key or auth_token to be set."'): ("auth", "credential"),
    ("openai.LengthFinishReasonError", "Could not parse response content"): ("output_limit", "request_change"),
    ("openai.ContentFilterFinishReasonError", "x"): ("refusal", "boundary"),
    ("openai.APIResponseValidationError", "x"): ("server_error", "time"),
    ("openai.RateLimitError", "Error code: 429 - {'error': {'message': 'x', 'code': 'insufficient_quota'}}"): ("quota", "credential"),
    ("openai.BadRequestError", "Error code: 400 - {'error': {'message': 'x', 'code': 'context_length_exceeded'}}"): ("context_length", "compaction"),
    ("openai.InternalServerError", "<html><body>502 Bad Gateway</body></html>"): ("server_error", "time"),
    ("openai.AuthenticationError", "x"): ("auth", "credential"),
    ("anthropic.APIStatusError", "Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error'}}"): ("overloaded", "time"),
    ("anthropic.BadRequestError", "Error code: 400 - {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': 'Your credit balance is too low to access'}}"): ("quota", "credential"),
    ("anthropic.APIStatusError", "no status here"): ("unknown", "never"),
    ("google.genai.errors.ClientError", "429 RESOURCE_EXHAUSTED. {'error': {'code': 429, 'status': 'RESOURCE_EXHAUSTED'}}"): ("rate_limit", "time"),
    ("google.api_core.exceptions.DeadlineExceeded", "504 Deadline Exceeded"): ("timeout", "time"),
    ("google.auth.exceptions.RefreshError", "x"): ("auth", "credential"),
    ("litellm.exceptions.ContextWindowExceededError", "litellm.ContextWindowExceededError: OpenAIException - x"): ("context_length", "compaction"),
    ("botocore.errorfactory.ThrottlingException", "An error occurred (ThrottlingException) when calling the Converse operation: Too many requests"): ("rate_limit", "time"),
    ("botocore.exceptions.ClientError", "An error occurred (ExpiredTokenException) when calling the Converse operation: x"): ("auth", "credential"),
    ("botocore.exceptions.NoRegionError", "You must specify a region."): ("auth", "config"),
    ("httpx.HTTPStatusError", "Client error '404 Not Found' for url 'http://x'"): ("model_not_found", "config"),
    ("grpc._channel._InactiveRpcError", "status = StatusCode.RESOURCE_EXHAUSTED details = x"): ("rate_limit", "time"),
    ("aiohttp.ClientConnectorCertificateError", "x"): ("network", "config"),
    ("aiohttp.ClientConnectorSSLError", "x"): ("network", "time"),
    ("httpx.LocalProtocolError", "Invalid state"): ("unknown", "never"),
    ("KeyError", "'choices'"): ("unknown", "never"),
    ("ValueError", "rate limit"): ("unknown", "never"),
    ("msgspec.DecodeError", "Input data was truncated"): ("server_error", "time"),
    ("trio.Cancelled", ""): ("cancelled", "never"),
    ("KeyboardInterrupt", ""): ("cancelled", "never"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "message"), RAISED)
def test_exception_has_its_class_and_recovery(kind, message):
    verdict = classify(report_from({"provider": "client", "exception": {"type": kind, "message": message}}))
    assert (verdict.name, verdict.recovers_with) == RAISED[kind, message], verdict.evidence


NAMES = {
    ("network", "time"): (
        "httpx.ConnectError httpx.ReadError httpx.WriteError httpx.CloseError httpx.NetworkError httpx.TransportError "
        "httpx.RemoteProtocolError httpx.ProxyError ConnectionError ConnectionResetError ConnectionAbortedError "
        "ConnectionRefusedError BrokenPipeError socket.gaierror socket.herror ssl.SSLError ssl.SSLEOFError "
        "ssl.SSLZeroReturnError botocore.exceptions.EndpointConnectionError botocore.exceptions.ConnectionClosedError "
        "botocore.exceptions.HTTPClientError botocore.exceptions.ResponseStreamingError http.client.IncompleteRead "
        "http.client.RemoteDisconnected asyncio.IncompleteReadError requests.exceptions.ChunkedEncodingError "
        "aiohttp.ClientConnectorError aiohttp.ClientConnectorDNSError aiohttp.ClientOSError aiohttp.ClientConnectionError "
        "aiohttp.ClientConnectionResetError aiohttp.ServerDisconnectedError aiohttp.ServerConnectionError "
        "aiohttp.ClientPayloadError aiohttp.ClientHttpProxyError aiohttp.http_exceptions.TransferEncodingError "
        "openai.APIConnectionError urllib3.exceptions.NewConnectionError urllib3.exceptions.MaxRetryError "
        "urllib3.exceptions.ProtocolError urllib3.exceptions.NameResolutionError urllib3.exceptions.ProxySchemeUnknown "
        "anyio.EndOfStream anyio.BrokenResourceError anyio.ClosedResourceError websockets.ConnectionClosed "
        "websockets.ConnectionClosedOK websocket.WebSocketConnectionClosedError httpx_socks.ProxyConnectionError "
        "x.StreamError x.StreamClosed x.StreamReset x.DataLossError x.SocketError x.NetworkError x.DisconnectedError"
    ),
    ("timeout", "time"): (
        "TimeoutError socket.timeout httpx.ConnectTimeout httpx.TimeoutException x.TimedOut x.TimedOutError "
        "requests.exceptions.Timeout google.api_core.exceptions.DeadlineExceeded"
    ),
    ("cancelled", "never"): (
        "asyncio.CancelledError trio.Cancelled KeyboardInterrupt openai.UserAbortError openai.APIUserAbortError"
    ),
    ("auth", "credential"): (
        "botocore.exceptions.NoCredentialsError botocore.exceptions.PartialCredentialsError "
        "botocore.exceptions.CredentialRetrievalError botocore.exceptions.TokenRetrievalError "
        "botocore.exceptions.SSOTokenLoadError botocore.exceptions.UnauthorizedSSOTokenError "
        "google.auth.exceptions.DefaultCredentialsError google.auth.exceptions.RefreshError "
        "google.auth.exceptions.OAuthError azure.core.exceptions.ClientAuthenticationError "
        "azure.identity.CredentialUnavailableError openai.SubjectTokenProviderError botocore.exceptions.NoAuthTokenError"
    ),
    ("auth", "config"): (
        "botocore.exceptions.NoRegionError botocore.exceptions.ProfileNotFound botocore.exceptions.InvalidRegionError "
        "botocore.exceptions.ConfigParseError"
    ),
    ("invalid_request", "config"): (
        "httpx.UnsupportedProtocol httpx.InvalidURL requests.exceptions.MissingSchema requests.exceptions.InvalidSchema "
        "aiohttp.NonHttpUrlClientError httpx.TooManyRedirects"
    ),
    ("server_error", "time"): (
        "json.JSONDecodeError msgspec.DecodeError httpx.DecodingError requests.exceptions.ContentDecodingError "
        "openai.APIResponseValidationError openai.InternalServerError x.BadGatewayError openai.ConflictError"
    ),
    ("unknown", "never"): (
        "TypeError AttributeError KeyError IndexError NameError UnboundLocalError AssertionError ImportError "
        "ModuleNotFoundError NotImplementedError ZeroDivisionError RecursionError SyntaxError ValueError "
        "x.ConnectErrors x.TimeoutKind x.APIStatusError x.APIError x.APIResponseError x.ClientError x.ServerError "
        "x.SDKError x.HTTPStatusError x.ApiError x.MistralError x.HfHubHTTPError x.HTTPError x.ModelHTTPError "
        "x.ResponseError x.EventStreamError"
    ),
    ("malformed_tool_call", "request_change"): "google.genai.IncompleteToolCall",
    ("invalid_request", "request_change"): (
        "openai.BadRequestError google.api_core.exceptions.InvalidArgument openai.InvalidRequestError "
        "openai.UnprocessableEntityError botocore.exceptions.ParamValidationError"
    ),
}


@pytest.mark.parametrize(
    ("kind", "expected"), [(kind, expected) for expected, listed in NAMES.items() for kind in listed.split()]
)
def test_name_of_an_exception_alone_has_its_class(kind, expected):
    verdict = classify(report_from({"provider": "client", "exception": {"type": kind, "message": "x"}}))
    assert (verdict.name, verdict.recovers_with) == expected


STATUSES = {
    400: "BadRequestError InvalidArgument InvalidRequestError ContextWindowExceededError ContentPolicyViolationError "
    "BudgetExceededError ParamValidationError",
    401: "AuthenticationError Unauthenticated UnauthorizedError",
    402: "PaymentRequiredError",
    403: "PermissionDeniedError PermissionDenied ForbiddenError",
    404: "NotFoundError NotFound",
    408: "Timeout",
    409: "ConflictError",
    413: "RequestTooLargeError",
    422: "UnprocessableEntityError",
    429: "RateLimitError TooManyRequestsError TooManyRequests ResourceExhausted",
    500: "InternalServerError",
    502: "BadGatewayError",
    503: "ServiceUnavailableError ServiceUnavailable MidStreamFallbackError",
    504: "DeadlineExceededError",
    529: "OverloadedError",
}


@pytest.mark.parametrize(
    ("kind", "status"), [(kind, status) for status, listed in STATUSES.items() for kind in listed.split()]
)
def test_exception_of_an_sdk_stands_for_a_status(kind, status):
    assert [one.status for one in carried_errors(ExceptionFact(type=f"sdk.{kind}", message=""), None)] == [status]


@pytest.mark.parametrize(
    "kind",
    [
        "APIStatusError",
        "APIError",
        "APIResponseError",
        "ClientError",
        "ServerError",
        "SDKError",
        "HTTPStatusError",
        "ApiError",
        "MistralError",
        "HfHubHTTPError",
        "HTTPError",
        "ModelHTTPError",
        "ResponseError",
        "EventStreamError",
    ],
)
@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("Error code: 429", 429),
        ("status code: 429", 429),
        ("status_code=429", 429),
        ("HTTP/1.1 429", 429),
        ("HTTP 429", 429),
        ("429 Too Many Requests", 429),
        ("Client error '429 Too Many Requests'", 429),
        ("server error '503 Down'", 503),
        (" " * 385 + "Error code: 429", 429),
        (" " * 386 + "Error code: 429", None),
        ("399 Odd", None),
        ("600 Odd", None),
        ("4290", None),
        ("about 429", None),
    ],
)
def test_general_exception_of_an_sdk_says_its_status_in_words(kind, message, status):
    found = carried_errors(ExceptionFact(type=kind, message=message), None)
    assert [one.status for one in found] == ([] if status is None else [status])


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"status_code": 429}, 429),
        ({"status": "429"}, 429),
        ({"code": 429}, 429),
        ({"status_code": 400}, 400),
        ({"status_code": 599}, 599),
        ({"status_code": 503, "status": 429, "code": 400}, 503),
    ],
)
def test_exception_states_its_status_in_a_field(fields, status):
    found = carried_errors(ExceptionFact(type="x.Odd", message="x", fields=fields), None)
    assert {one.status for one in found} == {status}


@pytest.mark.parametrize("status", [200, 399, 600])
def test_exception_of_no_failure_carries_no_error(status):
    assert carried_errors(ExceptionFact(type="x.Odd", message="x", fields={"status_code": status}), None) == []


SYSTEM = {
    "[Errno 104] Connection reset by peer": ("network", "time"),
    "[Errno -2] x": ("network", "time"),
    "while reading: [Errno 110] x": ("network", "time"),
    "while reading: [Errno 28] x": ("network", "config"),
    "Connection refused": ("network", "time"),
    "connection reset": ("network", "time"),
    "Connection aborted": ("network", "time"),
    "Network is unreachable": ("network", "time"),
    "No route to host": ("network", "time"),
    "Broken pipe": ("network", "time"),
    "Name or service not known": ("network", "time"),
    "Temporary failure in name resolution": ("network", "time"),
    "nodename nor servname provided": ("network", "time"),
    "[Errno 12] Cannot allocate memory": ("network", "config"),
    "[Errno 23] Too many open files in system": ("network", "config"),
    "[Errno 24] Too many open files": ("network", "config"),
    "[Errno 28] No space left on device": ("network", "config"),
    "certificate verify failed": ("network", "config"),
    "SSLCertVerificationError": ("network", "config"),
    "Hostname mismatch": ("network", "config"),
    "UNSUPPORTED_PROTOCOL": ("network", "config"),
    "TLSV1_ALERT_PROTOCOL_VERSION": ("network", "config"),
    "self-signed certificate": ("network", "config"),
    "self signed certificate": ("network", "config"),
    "no API key": ("auth", "credential"),
    "No API_key": ("auth", "credential"),
    "Missing key inputs argument": ("auth", "credential"),
    "Illegal header value b'Bearer '": ("auth", "credential"),
    "Illegal header value Bearer": ("auth", "credential"),
}


@pytest.mark.parametrize("message", SYSTEM)
@pytest.mark.parametrize("kind", ["OSError", "IOError", "socket.error"])
def test_error_of_the_operating_system_is_known_by_its_text(kind, message):
    verdict = classify(report_from({"provider": "client", "exception": {"type": kind, "message": message}}))
    assert (verdict.name, verdict.recovers_with) == SYSTEM[message]


@pytest.mark.parametrize(
    ("status", "expected"),
    [(400, "network"), (401, "permission"), (407, "permission"), (408, "network"), (4070, "network")],
)
def test_proxy_that_denies_wants_a_setting(status, expected):
    exception = {"type": "httpx.ProxyError", "message": f"proxy says {status}"}
    assert classify(report_from({"provider": "client", "exception": exception})).name == expected


def test_python_literal_counts_unless_it_is_longer_than_any_error():
    for length, name in ((1_000, "quota"), (30_000, "rate_limit")):
        message = "Error code: 429 - {'error': {'message': '\\x41" + "x" * length + "', 'code': 'insufficient_quota'}}"
        exception = {"type": "openai.RateLimitError", "message": message}
        assert classify(report_from({"provider": "client", "exception": exception})).name == name


CHAINED = {
    ("openai.APIConnectionError", "httpx2.ConnectTimeout: timed out"): ("timeout", "time"),
    ("openai.APIConnectionError", "ssl.SSLCertVerificationError: certificate verify failed"): ("network", "config"),
    ("RuntimeError", "httpx.ReadError: [Errno 104]"): ("network", "time"),
    ("RuntimeError", " httpx.ReadError : x"): ("network", "time"),
    ("RuntimeError", "openai.RateLimitError: Error code: 429 - {'error': {'code': 'insufficient_quota'}}"): (
        "quota",
        "credential",
    ),
    (
        "tenacity.RetryError",
        "anthropic.OverloadedError: Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error'}}",
    ): ("overloaded", "time"),
    ("TypeError", "httpx.ReadError"): ("unknown", "never"),
    ("AttributeError", "openai.RateLimitError: Error code: 429 - {'error': {}}"): ("unknown", "never"),
    ("RuntimeError", "asyncio.CancelledError"): ("cancelled", "never"),
}


@pytest.mark.parametrize(("kind", "cause"), CHAINED)
def test_cause_says_what_the_outer_exception_hides(kind, cause):
    exception = {"type": kind, "message": "", "cause": [cause]}
    verdict = classify(report_from({"provider": "client", "exception": exception}))
    assert (verdict.name, verdict.recovers_with) == CHAINED[kind, cause]


def test_decoding_error_after_the_first_byte_is_a_cut_stream():
    exception = {"type": "json.decoder.JSONDecodeError", "message": "x", "after_first_byte": True}
    assert classify(report_from({"provider": "client", "exception": exception})).name == "truncated_stream"


def test_own_fields_of_an_exception_count():
    exception = {"type": "openai.APIError", "message": "x", "code": "data_inspection_failed"}
    assert classify(report_from({"provider": "dashscope", "exception": exception})).name == "refusal"
    exception = {
        "type": "openai.APIStatusError",
        "message": "x",
        "status_code": 503,
        "body": {"error": {"code": "flex_unavailable"}},
    }
    verdict = classify(report_from({"provider": "openai", "exception": exception}))
    assert (verdict.name, verdict.evidence[0].value) == ("overloaded", "flex_unavailable")


BROKEN = ExceptionFact(type="httpx2.ReadError", message="x", after_first_byte=True)


def test_exception_after_the_protocols_own_end_says_nothing():
    report = Report(
        provider="x", status=200, stream=True, parts=[TextPart(text="hi")], finish="stop", ended=True, exception=BROKEN
    )
    assert classify(report).name == "ok"


def test_error_sent_before_the_connection_broke_counts():
    event = {"event": "error", "data": {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}}
    report = Report(provider="anthropic", status=200, stream=True, events=[event], exception=BROKEN)
    assert classify(report).name == "overloaded"


def test_cancel_counts_before_the_end_only():
    cancelled = ExceptionFact(type="asyncio.CancelledError", message="")
    half = Report(provider="x", status=200, stream=True, parts=[TextPart(text="hi")], exception=cancelled)
    verdict = classify(half)
    assert (verdict.name, verdict.after_output) == ("cancelled", True)


def test_sdk_exception_names_the_provider_when_the_exchange_does_not():
    message = "Error code: 400 - {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': 'prompt is too long: 9 > 8'}}"
    exception = {"type": "anthropic.BadRequestError", "message": message}
    assert classify(report_from({"provider": "client", "exception": exception})).name == "context_length"


def test_refusal_raised_in_the_middle_of_a_stream_came_mid_stream():
    message = "{'type': 'error', 'error': {'type': 'invalid_request_error', 'message': 'Output blocked by content filtering policy'}}"
    exception = {"type": "anthropic.APIStatusError", "message": message, "status_code": 200, "after_first_byte": True}
    verdict = classify(report_from({"provider": "anthropic", "exception": exception}))
    assert (verdict.name, verdict.category, verdict.where) == ("refusal", "copyright_or_output_filter", "mid_stream")


BUGS = (
    "TypeError AttributeError KeyError IndexError NameError UnboundLocalError AssertionError ImportError "
    "ModuleNotFoundError NotImplementedError ZeroDivisionError RecursionError SyntaxError"
)


@pytest.mark.parametrize("kind", [*BUGS.split()])
def test_bug_is_a_bug_whatever_it_was_raised_for(kind):
    for cause in ("httpx.ReadError", "openai.RateLimitError: Error code: 429"):
        exception = {"type": kind, "message": "x", "cause": cause, "status_code": 429}
        assert classify(report_from({"provider": "client", "exception": exception})).name == "unknown"


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("openai.ContentFilterFinishReasonError", "completion"),
        ("vertexai.BlockedPromptException", "prompt"),
        ("vertexai.StopCandidateException", "completion"),
    ],
)
def test_exception_that_is_a_refusal_names_its_side(kind, where):
    verdict = classify(report_from({"provider": "client", "exception": {"type": kind, "message": "x"}}))
    assert (verdict.name, verdict.where) == ("refusal", where)


@pytest.mark.parametrize(("length", "expected"), [(193, "timeout"), (194, "unknown")])
def test_so_much_of_a_name_is_read(length, expected):
    exception = {"type": "x." + "A" * length + "Timeout", "message": ""}
    assert classify(report_from({"provider": "client", "exception": exception})).name == expected


CODED = "Error code: 400 - {'error': {'code': 'c'}}"
LIMITED = "An error occurred (ThrottlingException) when calling x"

# name: (provider, exception, field and value of the evidence)
SHOWN = {
    "error in the text": ("x", {"type": "a.B", "message": CODED}, ("exception.message.error.code", "c")),
    "error in a cause's text": (
        "x", {"type": "a.B", "message": "", "cause": ["c.D: x", f" e.F : {CODED}"]},
        ("exception.cause[1].message.error.code", "c"),
    ),
    "error before that of a cause": (
        "x", {"type": "a.B", "message": CODED, "cause": [CODED.replace("'c'", "'d'")]}, ("exception.message.error.code", "c")
    ),
    "status of a cause": ("x", {"type": "a.B", "cause": "openai.APIError: 429 Slow"}, ("status", "429")),
    "code": ("x", {"type": "a.B", "code": "quota_exceeded"}, ("exception.code", "quota_exceeded")),
    "error code": ("x", {"type": "a.B", "error_code": "quota_exceeded"}, ("exception.error_code", "quota_exceeded")),
    "error type": ("x", {"type": "a.B", "error_type": "quota_exceeded", "code": ["odd"]}, ("exception.error_type", "quota_exceeded")),
    "botocore": ("x", {"type": "a.B", "message": f"Oh: {LIMITED}"}, ("exception.message", "ThrottlingException")),
    "name that is a code": ("x", {"type": "a.RateLimitError", "message": ""}, ("exception.type", "RateLimitError")),
    "known text": (
        "openai", {"type": "openai.BadRequestError", "message": "This exceeds the context window"},
        ("exception.message", "exceeds the context window"),
    ),
    "type": ("x", {"type": "a.ReadError", "message": ""}, ("exception.type", "a.ReadError")),
    "unknown type": ("x", {"type": "a.B" * 50, "message": ""}, ("exception.type", ("a.B" * 50)[:119] + "…")),
    "cause": ("x", {"type": "a.B", "message": "", "cause": ["c.D", "e.ReadError"]}, ("exception.cause[1]", "e.ReadError")),
    "bug in a cause": ("x", {"type": "a.ReadError", "message": "", "cause": "KeyError: 'x'"}, ("exception.type", "a.ReadError")),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_evidence_of_an_exception_says_where_it_stood(name):
    provider, exception, expected = SHOWN[name]
    found = classify(report_from({"provider": provider, "exception": exception}))
    assert (found.evidence[0].field, found.evidence[0].value) == expected


def carried(kind, message="", status=None, **fields):
    return [one.status for one in carried_errors(ExceptionFact(type=kind, message=message, fields=fields), status)]


def test_errors_that_an_exception_carries_are_counted_once_with_their_status():
    assert carried("a.RateLimitError", "Error code: 429 - {'error': {'code': 'c'}}") == [429]
    assert carried("a.RateLimitError", status_code=503) == [503]
    assert carried("a.Odd", body={"odd": 1}) == [400]
    assert carried("a.Odd", body={"odd": 1}, status_code=503) == [503]
    assert carried("a.Odd", status=503) == [503]
    assert carried("a.Odd", "Error code: 429") == []


def test_only_a_proxys_exception_speaks_of_a_proxy():
    for kind, message in (("httpx.ReadError", "proxy says 401"), ("httpx.ProxyError", "1401")):
        assert (
            classify(report_from({"provider": "x", "exception": {"type": kind, "message": message}})).name == "network"
        )


def test_fields_of_a_recorded_exception_are_what_is_left_of_it():
    told = {"type": "a.B", "message": "m", "cause": [7, "c"], "after_first_byte": True, "code": 7}
    found = report_from({"exception": told}).exception
    assert found == ExceptionFact(type="a.B", message="m", cause=["c"], after_first_byte=True, fields={"code": 7})
