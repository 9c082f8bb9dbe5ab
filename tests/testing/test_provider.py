"""The scripted provider as a server: which entry answers, what it records, and how it breaks connections."""

import asyncio
import json
import socket

import httpx2
import pytest

from stoic.testing import ScriptedProvider

ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def post(url, body=None, headers=None):
    content = json.dumps(ASK if body is None else body)
    return httpx2.post(url + "/chat/completions", content=content, headers=headers or {}, trust_env=False)


def text_of(response):
    return response.json()["choices"][0]["message"]["content"]


def asking(text, model="m"):
    return {"model": model, "messages": [{"role": "user", "content": text}]}


def test_replies_are_played_in_order_and_then_a_clear_error():
    with ScriptedProvider([["text:a"], ["text:b"]]) as provider:
        answers = [post(provider.base_url) for _ in range(3)]
    assert [text_of(answer) for answer in answers[:2]] == ["a", "b"]
    assert answers[2].status_code == 400
    assert answers[2].json()["error"]["code"] == "script_exhausted"
    assert "its 2 replies have been played" in answers[2].json()["error"]["message"]
    assert (provider.exhausted, provider.unplayed) == (1, [])


def test_every_answer_says_that_it_is_simulated():
    script = [["text:whole"], ["text:stream"], {"status": 429, "body": {}}, {"status": 200, "sse": []}]
    with ScriptedProvider(script) as provider:
        asked = [ASK, {**ASK, "stream": True}, ASK, {**ASK, "stream": True}, ASK]
        answers = [post(provider.base_url, body) for body in asked]
        answers.append(httpx2.post(provider.base_url + "/elsewhere", trust_env=False))
    assert [answer.status_code for answer in answers] == [200, 200, 429, 200, 400, 404]
    assert [answer.headers["stoic-simulated"] for answer in answers] == ["1"] * 6


def test_reply_of_a_route_waits_for_a_request_of_that_route():
    with ScriptedProvider([["B", "text:b1"], ["A", "text:a1"], ["text:any"], ["B", "text:b2"]]) as provider:
        by_path = [text_of(post(provider.base_url_of(route))) for route in "ABAB"]
    assert by_path == ["a1", "b1", "any", "b2"]
    with ScriptedProvider([["B", "text:b"], ["A", "text:a"]]) as provider:
        by_model = [text_of(post(provider.base_url, asking("hi", model))) for model in "AB"]
    assert by_model == ["a", "b"]
    assert [request.route for request in provider.requests] == ["A", "B"]


def test_rules_come_first_as_often_as_they_say():
    rules = [{"request_contains": "[[T1]]", "reply": ["text:rule"], "times": 2}]
    with ScriptedProvider({"rules": rules, "replies": [["text:reply"]], "default": "ok"}) as provider:
        texts = [text_of(post(provider.base_url, asking(f"x {word}"))) for word in ("[[T1]]", "", "[[T1]]", "[[T1]]")]
    assert texts == ["rule", "reply", "rule", "ok"]
    assert [request.answered_by for request in provider.requests] == ["rule 1", "reply 1", "rule 1", "default"]


def test_rule_finds_text_that_json_escapes():
    rules = [{"request_contains": 'say "é\n"', "reply": ["text:found"]}]
    with ScriptedProvider({"rules": rules}) as provider:
        assert text_of(post(provider.base_url, asking('please say "é\n" now'))) == "found"


def test_condition_on_an_empty_text_block_has_two_sides():
    script = [{"if": "the request holds an empty text block", "reply": {"status": 400}, "else": ["text:ok"]}]
    with ScriptedProvider(script, checks=False) as provider:
        assert post(provider.base_url, asking("")).status_code == 400
        assert text_of(post(provider.base_url, asking("x"))) == "ok"


def test_function_as_script_answers_from_the_request():
    def answer(request):
        return [f"text:{request.number} {request.json['messages'][0]['content']}"]

    with ScriptedProvider(answer) as provider:
        assert [text_of(post(provider.base_url, asking(word))) for word in ("a", "b")] == ["1 a", "2 b"]


def test_exception_of_a_script_function_is_raised_where_the_block_ends():
    def answer(request):
        raise KeyError("bug of the test")

    with (
        pytest.raises(KeyError, match="bug of the test"),
        ScriptedProvider(answer) as provider,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        post(provider.base_url)


def test_request_is_recorded_without_its_secrets(tmp_path):
    with (tmp_path / "record.jsonl").open("w") as record, ScriptedProvider([["text:a"]], record=record) as provider:
        post(provider.base_url, headers={"authorization": "Bearer sk-1", "api-key": "sk-2", "x-kept": "yes"})
    (request,) = provider.requests
    assert (request.method, request.path, request.json) == ("POST", "/v1/chat/completions", ASK)
    assert request.body == json.dumps(ASK).encode()
    assert (request.answered_by, request.status, request.left_early) == ("reply 1", 200, False)
    assert (request.headers["authorization"], request.headers["api-key"]) == ("Bearer ***", "***")
    line = (tmp_path / "record.jsonl").read_text()
    assert "sk-" not in line
    assert json.loads(line)["json"] == ASK
    assert json.loads(line)["headers"]["x-kept"] == "yes"


def test_request_that_is_no_json_is_recorded_as_text(tmp_path):
    with (tmp_path / "record.jsonl").open("w") as record, ScriptedProvider([], record=record) as provider:
        answer = httpx2.post(provider.base_url + "/chat/completions", content=b"not json", trust_env=False)
    assert answer.status_code == 400
    assert json.loads((tmp_path / "record.jsonl").read_text())["text"] == "not json"


def test_other_path_is_not_found():
    with ScriptedProvider([["text:a"]]) as provider:
        answer = httpx2.get(provider.base_url + "/models", trust_env=False)
    assert answer.status_code == 404
    assert provider.requests[0].answered_by == "not found"
    assert provider.unplayed == ["reply 1"]


def raw_request(body):
    content = json.dumps(body).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(content)
    return head + content


@pytest.mark.parametrize("entry", [{"hang": True}, ["hang"], ["gate:never"], ["delay:600000ms"]])
def test_waiting_answer_ends_when_the_client_leaves(entry):
    async def run():
        async with ScriptedProvider([entry]) as provider:
            _, writer = await asyncio.open_connection("127.0.0.1", provider.port)
            writer.write(raw_request(ASK))
            await provider.arrived(1)
            writer.close()
            await provider.answered(1)
            return provider.requests

    (request,) = asyncio.run(run())
    assert (request.status, request.left_early) == (None, True)


def test_client_that_leaves_inside_the_answer_is_recorded_as_such():
    async def run():
        words = ["text:begin", "gate:left", *["text:more"] * 50]
        async with ScriptedProvider([words]) as provider:
            reader, writer = await asyncio.open_connection("127.0.0.1", provider.port)
            writer.write(raw_request({**ASK, "stream": True}))
            await reader.readuntil(b"begin")
            writer.close()
            await provider.answered(1)
            return provider.requests

    (request,) = asyncio.run(run())
    assert (request.status, request.left_early, request.ended) == (200, True, True)


MALFORMED = [["hi"], [7], [{"role": "assistant", "tool_calls": "x", "content": "x"}, "y"], "hi", {"a": 1}]


@pytest.mark.parametrize("messages", MALFORMED)
def test_request_of_any_shape_is_answered(messages):
    with ScriptedProvider({"default": "ok"}) as provider:
        assert post(provider.base_url, {"model": "m", "messages": messages}).status_code == 400


def test_gate_holds_the_answer_until_the_test_opens_it():
    async def run():
        async with ScriptedProvider([["gate:first", "text:a", "gate:second", "text:b"]]) as provider:
            reader, writer = await asyncio.open_connection("127.0.0.1", provider.port)
            writer.write(raw_request({**ASK, "stream": True}))
            await provider.arrived(1)
            assert provider.requests[0].status is None
            provider.open_gate("first")
            begin = await reader.readuntil(b'"content":"a"')
            provider.open_gate("second")
            rest = await reader.readuntil(b"0\r\n\r\n")
            writer.close()
        return begin, rest

    begin, rest = asyncio.run(run())
    assert begin.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'"content":"b"' in rest


def read_raw(provider):
    """Send a request over a bare socket and return every byte of the answer until the connection ends."""
    with socket.create_connection(("127.0.0.1", provider.port)) as client:
        client.sendall(raw_request(ASK))
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.parametrize("cut", [0, 1, 40, 200])
def test_answer_is_cut_after_exactly_so_many_bytes(cut):
    with ScriptedProvider([{"words": ["text:a"], "cut_at_byte": cut}]) as provider:
        assert len(read_raw(provider)) == cut


def test_reset_is_a_real_one():
    with ScriptedProvider([["reset"]]) as provider, pytest.raises(ConnectionResetError):
        read_raw(provider)


def test_body_of_a_whole_answer_is_cut_in_its_middle():
    complaint = pytest.raises(httpx2.RemoteProtocolError, match="without sending complete message body")
    with ScriptedProvider([["text:a", "cut"]]) as provider, complaint:
        post(provider.base_url)


def test_connection_serves_several_requests():
    with ScriptedProvider({"default": "ok"}) as provider, httpx2.Client(trust_env=False) as client:
        for _ in range(3):
            client.post(provider.base_url + "/chat/completions", json=ASK)
    assert [request.connection for request in provider.requests] == [1, 1, 1]


def test_client_that_speaks_no_http_harms_nobody():
    with ScriptedProvider([["text:a"]]) as provider:
        with socket.create_connection(("127.0.0.1", provider.port)) as client:
            client.sendall(b"\x16\x03\x01 hello\r\n\r\n")
            left = client.recv(100)
        assert left == b""
        assert text_of(post(provider.base_url)) == "a"


def test_port_in_use_is_raised_at_once():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"), ScriptedProvider([], port=taken.getsockname()[1]):
            pass


def test_equal_requests_get_equal_answers():
    answers = []
    for _ in range(2):
        with ScriptedProvider([["text:hello", 'tool:pay({"a":1})']]) as provider:
            answers.append(post(provider.base_url, {**ASK, "stream": True}).content)
    assert answers[0] == answers[1]
