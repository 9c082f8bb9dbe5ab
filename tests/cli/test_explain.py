"""`stoic explain`: what people paste, what they read, and what happens when it is nothing of that."""

import base64
import io
import json
import textwrap
from pathlib import Path

import pytest

from stoic.cli.explain import _MEANINGS, _TO_DO, explain
from stoic.core.failures import DEFAULT_AXIS, Axis, FailureClass

CASES = Path(__file__).parents[1] / "cases"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(text, *, as_json=True, file="-", stdout=None):
    out, err = stdout or io.StringIO(), io.StringIO()
    code = explain(file, as_json=as_json, stdin=io.StringIO(text), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def explained(text):
    """Return the JSON lines of an input that must be accepted."""
    code, out, err = run(text)
    assert (code, err) == (0, ""), err
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("name", ["failures_wire.json", "refusals_wire.json"])
def test_case_file_gives_one_line_for_each_case_in_order(name):
    cases = json.loads((CASES / name).read_text(encoding="utf-8"))
    code, out, err = run("", file=str(CASES / name))
    assert (code, err) == (0, "")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [case["id"] for case in cases]


def test_json_line_has_the_documented_fields():
    exchange = {
        "id": "a",
        "provider": "openai",
        "status": 429,
        "headers": {"retry-after": "1.5"},
        "body": {"error": {"code": "rate_limit_exceeded"}},
    }
    assert explained(json.dumps(exchange)) == [
        {
            "id": "a",
            "class": "rate_limit",
            "recovers_with": "time",
            "retry_after_s": 1.5,
            "scope": None,
            "category": None,
            "where": None,
            "after_output": False,
            "evidence": [
                {"field": "body.error.code", "value": "rate_limit_exceeded", "decided": "class"},
                {"field": "headers.retry-after", "value": "1.5", "decided": "wait"},
            ],
        }
    ]


def test_whole_seconds_are_whole_numbers_and_ids_default_to_the_position():
    lines = run(
        json.dumps([{"status": 503, "headers": {"retry-after": "5"}}, {"status": 200, "body": {"choices": []}}])
    )[1]
    assert '"retry_after_s":5,' in lines
    assert [json.loads(line)["id"] for line in lines.splitlines()] == ["1", "2"]


def test_ok_is_a_class_of_its_own():
    body = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    (line,) = explained(json.dumps({"provider": "openai", "status": 200, "body": body}))
    assert (line["class"], line["recovers_with"], line["evidence"]) == ("ok", None, [])


# ---- what people paste --------------------------------------------------------------------------

CURL = """HTTP/2 429
date: Mon, 30 Nov 2026 04:00:00 GMT
content-type: application/json
retry-after: 20
openai-organization: org-test

{"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}
"""

CURL_PROXIED = "HTTP/1.1 200 Connection established\n\nHTTP/1.1 100 Continue\n\n" + CURL

CURL_VERBOSE = """*   Trying 1.2.3.4:443...
* Connected to api.anthropic.com (1.2.3.4) port 443
> POST /v1/messages HTTP/2
> Host: api.anthropic.com
> accept: */*
>
< HTTP/2 400
< content-type: application/json
<
{ [120 bytes data]
{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 214315 tokens > 200000 maximum"}}
* Connection #0 to host api.anthropic.com left intact
"""

CURL_STREAM = """HTTP/1.1 200 OK
content-type: text/event-stream

: keep-alive

event: message_start
data: {"type": "message_start", "message": {"content": []}}

id: 7
event: error
data: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

"""

CURL_STREAM_CUT = """HTTP/1.1 200 OK
content-type: text/event-stream

data: {"choices": [{"delta": {"content": "Hel"}, "finish_reason": null}]}

curl: (18) transfer closed with outstanding read data remaining
"""

DUMP = (
    "POST /api/chat/completions HTTP/1.1\r\nHost: api.deepseek.com\r\n\r\n{}\r\n\r\n"
    'HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n{"error": {"message": "Content Exists Risk", "code": "invalid_request_error"}}'
)

CHUNKED = 'HTTP/1.1 402 Payment Required\nTransfer-Encoding: chunked\n\n21\n{"error": {"message": "nothing"}}\n0\n\n'

NDJSON = """HTTP/1.1 200 OK
content-type: application/x-ndjson

{"model": "m", "message": {"role": "assistant", "content": "Let"}, "done": false}
{"error": "an error was encountered while running the model: unexpected EOF"}
"""

PAGE = "HTTP/1.1 502 Bad Gateway\nContent-Type: text/html\n\n<html><body><h1>502</h1>HTTP/1.1 200 OK\n</body></html>"

OPENAI_TRACE = """Traceback (most recent call last):
  File "app.py", line 3, in <module>
    client.chat.completions.create(model="m", messages=[])
  File "openai/_base_client.py", line 1047, in request
    raise self._make_status_error_from_response(err.response) from None
openai.RateLimitError: Error code: 429 - {'error': {'message': 'You exceeded your current quota', 'type': 'insufficient_quota', 'param': None, 'code': 'insufficient_quota'}}
"""

CHAINED_TRACE = """Traceback (most recent call last):
  File "httpcore/_sync.py", line 1, in read
    raise ReadTimeout(message)
httpcore.ReadTimeout: The read operation timed out

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "httpx/_transports.py", line 1, in handle
    raise mapped(message) from exc
httpx.ReadTimeout: The read operation timed out

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "anthropic/_base_client.py", line 1, in request
    raise APITimeoutError(request=request) from err
anthropic.APITimeoutError: Request timed out.
"""

BUG_TRACE = CHAINED_TRACE.replace(
    "anthropic.APITimeoutError: Request timed out.", "TypeError: 'NoneType' object is not subscriptable"
)

GROUP_TRACE = """  + Exception Group Traceback (most recent call last):
  |   File "a.py", line 1, in <module>
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "a.py", line 2, in f
    | httpx.ReadError: [Errno 104] Connection reset by peer
    +------------------------------------
"""

GOOGLE_TRACE = """Traceback (most recent call last):
  File "x.py", line 1, in <module>
google.genai.errors.ClientError: 400 INVALID_ARGUMENT. {'error': {'code': 400, 'message': 'API key not valid. Please pass a valid API key.', 'status': 'INVALID_ARGUMENT'}}
"""

BOTO_TRACE = """Traceback (most recent call last):
  File "x.py", line 1, in <module>
botocore.exceptions.ClientError: An error occurred (AccessDeniedException) when calling the Converse operation: x
"""

STREAM_TRACE = """Traceback (most recent call last):
  File "openai/_streaming.py", line 58, in __stream__
    data = sse.json()
json.decoder.JSONDecodeError: Unterminated string starting at: line 1 column 44 (char 43)
"""

PASTED = {
    "curl": (CURL, "rate_limit", 20),
    "curl-through-proxy": (CURL_PROXIED, "rate_limit", 20),
    "curl-verbose": (CURL_VERBOSE, "context_length", None),
    "curl-stream": (CURL_STREAM, "overloaded", None),
    "curl-stream-cut": (CURL_STREAM_CUT, "network", None),
    "curl-refused": ("curl: (7) Failed to connect to localhost port 11434: Connection refused\n", "network", None),
    "curl-timeout": ("curl: (28) Operation timed out after 5000 milliseconds\n", "timeout", None),
    "curl-certificate": ("curl: (60) SSL certificate problem: self-signed certificate\n", "network", None),
    "curl-http2": ("curl: (92) HTTP/2 stream 1 was not closed cleanly\n", "network", None),
    "request-and-response": (DUMP, "refusal", None),
    "chunked": (CHUNKED, "quota", None),
    "ndjson": (NDJSON, "server_error", None),
    "page": (PAGE, "server_error", None),
    "headers-only": ("HTTP/1.1 429 Too Many Requests\nretry-after: 3", "rate_limit", 3),
    "traceback": (OPENAI_TRACE, "quota", None),
    "traceback-last-line": (OPENAI_TRACE.strip().splitlines()[-1], "quota", None),
    "traceback-chained": (CHAINED_TRACE, "timeout", None),
    "traceback-bug": (BUG_TRACE, "unknown", None),
    "traceback-group": (GROUP_TRACE, "network", None),
    "traceback-google": (GOOGLE_TRACE, "auth", None),
    "traceback-bedrock": (BOTO_TRACE, "permission", None),
    "traceback-stream": (STREAM_TRACE, "truncated_stream", None),
    "traceback-no-message": ('Traceback (most recent call last):\n  File "a", line 1, in b\nasyncio.exceptions.CancelledError\n', "cancelled", None),
    "bare-error": ('{"error": {"message": "x", "code": "insufficient_quota"}}', "quota", None),
    "bare-anthropic-error": ('{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}', "overloaded", None),
    "bare-flat-error": ('{"object": "error", "message": "x", "type": "rate_limited", "code": "1300"}', "rate_limit", None),
    "bare-code": ('{"code": "invalid_api_key", "message": "x"}', "auth", None),
    "bare-answer": ('{"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}', "empty_response", None),
    "stream-as-text": (json.dumps({"status": 200, "body": 'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'}), "truncated_stream", None),
    "stream-alone": ('event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}\n\n', "overloaded", None),
    "traceback-indented": (textwrap.indent(CHAINED_TRACE.strip("\n"), "    "), "timeout", None),
    "traceback-windows": (OPENAI_TRACE.replace("\n", "\r\n"), "quota", None),
    "redirected": ("HTTP/1.1 307 Temporary Redirect\r\nlocation: /x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 Unauthorized\r\n\r\n{}", "auth", None),
    "cut-json": (json.dumps({"status": 200, "body": '{"choices": [{"message": {"content": "a'}), "truncated_stream", None),
    "header-list": (json.dumps({"status": 429, "headers": {"Retry-After": ["7"]}}), "rate_limit", 7),
    "byte-order-mark": ("\ufeff" + json.dumps({"status": 401}), "auth", None),
}  # fmt: skip


@pytest.mark.parametrize("name", PASTED)
def test_pasted_text_is_explained(name):
    text, expected, wait = PASTED[name]
    (line,) = explained(text)
    assert (line["class"], line["retry_after_s"]) == (expected, wait), line


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("curl: (6) Could not resolve host: api.openai.com", ("curl", "(6) Could not resolve host: api.openai.com")),
        ("curl: (28) Operation timed out", ("curl", "(28) Operation timed out")),
        ("socket.gaierror: [Errno -2] Name or service not known", ("exception.type", "socket.gaierror")),
        (
            json.dumps(
                {"request": {"url": "https://x"}, "response": {"status": 0, "_error": "net::ERR_NAME_NOT_RESOLVED"}}
            ),
            ("response._error", "net::ERR_NAME_NOT_RESOLVED"),
        ),
        ('{"told_as": {"field": "x"}, "status": 500}', ("status", "500")),
    ],
)
def test_evidence_names_what_stands_in_the_text(text, evidence):
    (line,) = explained(text)
    assert [(one["field"], one["value"]) for one in line["evidence"]] == [evidence]


@pytest.mark.parametrize(
    ("trace", "provider"),
    [
        ("curl: (6) Could not resolve host: api.openai.com\n", "openai"),
        ("curl: (7) Failed to connect to api.anthropic.com port 443 after 1 ms\n", "anthropic"),
        (OPENAI_TRACE, "openai"),
        (CHAINED_TRACE, "anthropic"),
        (BOTO_TRACE, "bedrock"),
        (GOOGLE_TRACE, "gemini"),
        (STREAM_TRACE, "client"),
        (OPENAI_TRACE + "base_url=https://api.groq.com/openai/v1", "groq"),
    ],
)
def test_traceback_gives_its_provider_away(trace, provider):
    assert run(trace, as_json=False)[1].startswith(f"1 ({provider})\n")


def test_lines_of_json_are_a_list():
    text = "\n".join(json.dumps({"id": str(status), "status": status}) for status in (401, 429, 529))
    assert [line["class"] for line in explained(text)] == ["auth", "rate_limit", "overloaded"]


def har(
    status=429,
    text='{"error": {"message": "x", "code": "rate_limit_exceeded"}}',
    url="https://api.openai.com/v1/chat",
    **more,
):
    headers = [{"name": "Retry-After", "value": "Mon, 30 Nov 2026 04:00:20 GMT"}]
    response = {"status": status, "headers": headers, "content": {"text": text, **more.pop("content", {})}, **more}
    return {"startedDateTime": "2026-11-30T04:00:00.000Z", "request": {"url": url}, "response": response}


def test_har_entry_and_har_file_are_explained():
    (entry,) = explained(json.dumps(har()))
    assert (entry["class"], entry["retry_after_s"]) == ("rate_limit", 20)
    whole = explained(json.dumps({"log": {"entries": [har(), har(status=529, text="")]}}))
    assert [line["class"] for line in whole] == ["rate_limit", "overloaded"]


def test_har_entry_knows_the_provider_by_its_address():
    body = '{"error": {"message": "Content Exists Risk", "code": "invalid_request_error"}}'
    (line,) = explained(json.dumps(har(400, body, "https://api.deepseek.com/chat/completions")))
    assert line["class"] == "refusal"


def test_har_entry_needs_no_time():
    entry = har()
    del entry["startedDateTime"]
    (line,) = explained(json.dumps(entry))
    assert (line["class"], line["retry_after_s"]) == ("rate_limit", None)


@pytest.mark.parametrize("headers", [None, 5, "retry-after: 3", [5, "x"]])
def test_har_headers_that_are_no_list_of_pairs_count_as_none(headers):
    (line,) = explained(json.dumps(har(headers=headers)))
    assert (line["class"], line["retry_after_s"]) == ("rate_limit", None)


def test_har_body_may_be_base64():
    body = base64.b64encode(b'{"error": {"code": "insufficient_quota", "message": "x"}}').decode()
    (line,) = explained(json.dumps(har(text=body, content={"encoding": "base64"})))
    assert line["class"] == "quota"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("net::ERR_CONNECTION_REFUSED", "network"),
        ("net::ERR_CERT_DATE_INVALID", "network"),
        ("net::ERR_TIMED_OUT", "timeout"),
        ("net::ERR_ABORTED", "cancelled"),
        (None, "network"),
    ],
)
def test_har_entry_without_an_answer_is_the_browsers_error(said, expected):
    (line,) = explained(json.dumps(har(status=0, _error=said)))
    assert line["class"] == expected


@pytest.mark.parametrize(
    ("header", "provider"),
    [
        ("anthropic-organization-id", "anthropic"),
        ("x-ms-region", "azure"),
        ("x-amzn-requestid", "bedrock"),
        ("x-groq-region", "groq"),
        ("x-litellm-call-id", "litellm"),
        ("server", "llama.cpp"),
        ("x-other", "unknown"),
    ],
)
def test_provider_is_told_from_headers(header, provider):
    value = "llama.cpp" if header == "server" else "x"
    out = run(f"HTTP/1.1 500 x\n{header}: {value}\n\n{{}}", as_json=False)[1]
    assert out.startswith(f"1 ({provider})\n")


# ---- malformed ----------------------------------------------------------------------------------

GOOD = {"provider": "openai", "status": 429}
MALFORMED = {
    "empty": ("", "the input is empty"),
    "blank": (" \n", "the input is empty"),
    "prose": ("please help", "item 1: neither JSON nor an HTTP response nor a traceback"),
    "prose-with-colon": ("note: it failed", "item 1: neither JSON"),
    "broken-json": ('{"status": 429', "item 1: not valid JSON"),
    "deep-json": ("[" * 5000, "item 1: not valid JSON"),
    "cut-last-line": ('{"status": 429}\n{"status":', "item 2: not valid JSON"),
    "lines-of-nothing-known": ('{"status" 429}\n{"status": 500}', "item 1: not valid JSON"),
    "broken-line": ('{"status": 429}\n{"status": }', "item 2: not valid JSON"),
    "empty-list": ("[]", "the list is empty"),
    "empty-har": ('{"log": {"entries": []}}', "the list is empty"),
    "number-item": (json.dumps([GOOD, GOOD, 7]), "item 3: must be an object, not int"),
    "null-item": (json.dumps([None]), "item 1: must be an object, not NoneType"),
    "nothing-to-explain": (json.dumps([GOOD, {"provider": "x"}]), "item 2: has none of status, body, sse and exception"),
    "foreign-object": ('{"name": "x"}', "item 1: has none of status, body, sse and exception"),
    "bad-status": (json.dumps([GOOD, {**GOOD, "status": "429"}]), "item 2: status must be an HTTP status number, not '429'"),
    "bad-headers": (json.dumps({**GOOD, "headers": []}), "item 1: headers must be an object, not list"),
    "bad-base64": (json.dumps([GOOD, har(content={"encoding": "base64"}, text="!")]), "item 2: response.content.text is not valid base64"),
    "traceback-without-its-end": ('Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n', "item 1: neither JSON"),
    "escape": (json.dumps({**GOOD, "status": "\x1b[31m\n"}), "item 1: status must be an HTTP status number"),
}  # fmt: skip


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_input_gives_one_line_with_its_position_and_nothing_else(name, as_json):
    text, message = MALFORMED[name]
    code, out, err = run(text, as_json=as_json)
    assert (code, out) == (2, "")
    assert err.startswith("stoic explain: ")
    assert message in err
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "\x1b" not in err
    assert "Traceback" not in err


def test_file_that_cannot_be_read_is_named(tmp_path):
    missing = run("", file=str(tmp_path / "missing.json"))
    assert missing[0] == 2
    assert "missing.json" in missing[2]
    folder = run("", file=str(tmp_path))
    assert folder[0] == 2
    binary = tmp_path / "image.json"
    binary.write_bytes(b"{\xff}")
    code, _, err = run("", file=str(binary))
    assert code == 2
    assert "not UTF-8 (byte 1)" in err
    assert run("", file="a\0b")[0] == 2


# ---- for people ---------------------------------------------------------------------------------


def test_explanation_says_what_why_and_what_to_do():
    out = run(CURL, as_json=False)[1]
    assert out.splitlines() == [
        "1 (openai)",
        "  rate_limit: too many requests or tokens in a window of time",
        "  recovers with: time, stated wait 20 s",
        "  because: body.error.code = rate_limit_exceeded",
        "  because: headers.retry-after = 20 (the wait)",
        "  do: Wait and send again; if it is frequent, send less at a time or ask for a higher limit.",
    ]


def test_refusal_is_explained_without_its_content():
    exchange = {
        "id": "r",
        "provider": "openrouter",
        "status": 403,
        "headers": {"x-request-id": "req_1"},
        "body": {
            "error": {
                "code": 403,
                "message": "flagged SECRET",
                "metadata": {"reasons": ["violence"], "flagged_input": "SECRET"},
            }
        },
    }
    out = run(json.dumps(exchange), as_json=False)[1]
    assert "refused: violence; prompt, nothing had been shown; request_bytes" in out
    assert "request id: req_1" in out
    assert "SECRET" not in out


def test_smaller_answer_is_advised_when_it_is_enough():
    message = "input length and `max_tokens` exceed context limit: 174167 + 64000 > 200000, decrease input length"
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    out = run(json.dumps({"provider": "anthropic", "status": 400, "body": body}), as_json=False)[1]
    assert "request_change, max_tokens at most 25833" in out
    assert "smaller max_tokens" in out


def test_unconfirmed_end_of_a_good_reply_is_shown():
    events = [{"data": {"choices": [{"delta": {"content": "hi"}}]}}, {"data": "[DONE]"}]
    out = run(json.dumps({"status": 200, "sse": events}), as_json=False)[1]
    assert "ok: a complete, normal reply; only [DONE] said that it was over" in out


def test_terminal_gets_colour_and_never_a_control_character_of_the_input(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    exchange = {
        "id": "\x1b]0;x\x07a",
        "provider": "b\x1b[2J",
        "status": 200,
        "body": {"error": {"code": "odd\x1b[31m", "message": "x"}},
    }
    out = run(json.dumps([exchange, GOOD]), as_json=False, stdout=Terminal())[1]
    assert "\x1b[1m" in out
    assert "\x1b]0" not in out
    assert "\x1b[2J" not in out
    assert "\x07" not in out


def test_account_and_agent_scopes_have_their_own_advice():
    account = {
        "provider": "anthropic",
        "status": 403,
        "body": {
            "type": "error",
            "error": {"type": "permission_error", "details": {"error_code": "organization_on_hold"}},
        },
    }
    assert "access was revoked" in run(json.dumps(account), as_json=False)[1]


def test_every_class_the_wire_can_have_is_explained():
    outside = {one for one in FailureClass if DEFAULT_AXIS[one] not in (Axis.MODEL, Axis.HUMAN)}
    explained_classes = outside - {FailureClass.INTERRUPTED, FailureClass.INTERNAL}
    assert set(_MEANINGS) == set(_TO_DO) == explained_classes
