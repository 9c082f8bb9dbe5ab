"""Exceptions and their cause chains."""

import pytest

from stoic.core.classify import classify, report_from
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


def test_python_literal_counts_unless_it_is_longer_than_any_error():
    for length, name in ((1_000, "quota"), (30_000, "rate_limit")):
        message = "Error code: 429 - {'error': {'message': '\\x41" + "x" * length + "', 'code': 'insufficient_quota'}}"
        exception = {"type": "openai.RateLimitError", "message": message}
        assert classify(report_from({"provider": "client", "exception": exception})).name == name


CHAINED = {
    ("openai.APIConnectionError", "httpx2.ConnectTimeout: timed out"): ("timeout", "time"),
    ("openai.APIConnectionError", "ssl.SSLCertVerificationError: certificate verify failed"): ("network", "config"),
    ("RuntimeError", "httpx.ReadError: [Errno 104]"): ("network", "time"),
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
