"""`calipers receive`: as a process, which is killed, and ends by Ctrl-C."""

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

SCRIPT = str(Path(sys.executable).with_name("calipers"))


def body(number):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel"}
    span = {
        "traceId": f"{number:032x}",
        "spanId": f"{1:016x}",
        "name": "work",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in told.items()],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def start(*words):
    command = [SCRIPT, "receive", "--port", "0", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    lines = []
    while not lines or "Receiving at" not in lines[-1]:
        lines.append(process.stderr.readline())
        assert lines[-1], "it ended"
    return process, lines, lines[-1].split()[2].rstrip(",")


def send(url, number):
    request = urllib.request.Request(url, body(number), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def test_nothing_that_was_acknowledged_is_lost_by_kill(calipers, folder):
    process, _, url = start("--wait", "60", "--name", "travel")
    with process:
        for number in (1, 2):
            send(url, number)
        process.kill()
    process, lines, url = start("--evaluators", "ToolCallCount: {maximum: 3}")
    with process:
        assert "an earlier process ended early: 2 attempts of 2 spans, 2 judgements, kept in" in lines[0]
        send(url, 3)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 0
    assert "1 attempt of 1 span, 1 judgement, kept in .calipers/runs.db: calipers show " in said
    assert "Passed 2 of 2 cases" in calipers("show", "travel").stdout
    assert "Passed 1 of 1 case" in calipers("show", "traces").stdout
    assert not (folder / ".calipers" / "runs.db.received").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--host", "0.0.0.0"], "can be reached from other machines: give --token"),
        (["--evaluators", "Nothing"], "--evaluators 'Nothing'"),
        (["--host", "192.0.2.1", "--token", "x"], "cannot listen on 192.0.2.1:4318"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_received(calipers, words, says):
    done = calipers("receive", *words)
    assert done.exit_code == 2
    assert says in done.stderr
    assert "travel" not in calipers("runs").stdout
