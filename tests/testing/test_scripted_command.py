"""`stoic scripted`, as a process of its own."""

import io
import json
import signal
import socket
import subprocess
import sys

import httpx2
import pytest

from stoic.cli.scripted import scripted

RUN = (
    "import sys; from pathlib import Path; from stoic.cli.scripted import scripted; "
    "sys.exit(scripted(Path(sys.argv[1]), port=0, record=Path(sys.argv[2]), stdout=sys.stdout, stderr=sys.stderr))"
)
ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_command_serves_until_it_is_interrupted(number, tmp_path):
    (tmp_path / "script.json").write_text('[["text:hello"]]')
    command = [sys.executable, "-c", RUN, str(tmp_path / "script.json"), str(tmp_path / "record.jsonl")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        told = process.stdout.readline()
        answer = httpx2.post(f"{base_url}/chat/completions", json=ASK, trust_env=False)
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert base_url.startswith("http://127.0.0.1:")
    assert "simulated" in told
    assert answer.json()["choices"][0]["message"]["content"] == "hello"
    assert (process.returncode, errors) == (0, "")
    assert json.loads((tmp_path / "record.jsonl").read_text())["json"] == ASK


def run(file, port=0, record=None):
    stdout, stderr = io.StringIO(), io.StringIO()
    code = scripted(file, port=port, record=record, stdout=stdout, stderr=stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def test_unusable_script_is_one_line_and_exit_code_2(tmp_path):
    code, out, err = run(tmp_path / "absent.json")
    assert (code, out) == (2, "")
    assert err.startswith("stoic scripted: cannot read the script ")
    assert err.count("\n") == 1


def test_port_in_use_is_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "script.json").write_text("[]")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = run(tmp_path / "script.json", port=port)
    assert code == 2
    assert err == f"stoic scripted: cannot listen on 127.0.0.1:{port}: Address already in use; choose another\n"


def test_record_file_that_cannot_be_written_is_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "script.json").write_text("[]")
    code, _, err = run(tmp_path / "script.json", record=tmp_path / "none" / "record.jsonl")
    assert code == 2
    assert err.startswith(f"stoic scripted: cannot write {tmp_path / 'none' / 'record.jsonl'}: No such file")
