"""Recordings of an agent: spans as OTLP in JSON or protobuf, read as traces or imported into a store.

A conversation has six spans: an agent, three requests to a model with their messages, and two tools.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PER_CONVERSATION = 6


def conversation(number):
    """The spans of one conversation: name, parent, start, attributes."""
    own = {"gen_ai.conversation.id": f"conversation {number}", "gen_ai.agent.name": "travel"}
    user = {
        "role": "user",
        "parts": [{"type": "text", "content": f"Book a flight to Oslo, please: {number}"}],
    }
    history = [user]
    yield "invoke_agent travel", None, 0, {"gen_ai.operation.name": "invoke_agent", **own}
    for step, tool in enumerate(("find_flights", "book", None)):
        if tool is None:
            part = {"type": "text", "content": "Booked OS12 for two, reference B-OS12."}
        else:
            part = {
                "type": "tool_call",
                "id": f"call_{number}_{step}",
                "name": tool,
                "arguments": {"to": "Oslo", "seats": 2},
            }
        answer = {"role": "assistant", "parts": [part], "finish_reason": "stop"}
        yield (
            "chat model",
            0,
            10 * step + 1,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "model",
                "gen_ai.response.model": "model-1",
                "gen_ai.usage.input_tokens": 100 + step,
                "gen_ai.usage.output_tokens": 10,
                "gen_ai.input.messages": json.dumps(history),
                "gen_ai.output.messages": json.dumps([answer]),
                **own,
            },
        )
        if tool is not None:
            result = {"flight": "OS12", "price": 120.5}
            yield (
                f"execute_tool {tool}",
                0,
                10 * step + 5,
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": tool,
                    "gen_ai.tool.call.id": f"call_{number}_{step}",
                    "gen_ai.tool.call.arguments": json.dumps(part["arguments"]),
                    "gen_ai.tool.call.result": json.dumps(result),
                    **own,
                },
            )
            told = {"type": "tool_call_response", "id": f"call_{number}_{step}", "response": result}
            history += [answer, {"role": "tool", "parts": [told]}]


BEGIN = 1_700_000_000_000_000_000


def as_json(numbers):
    spans = []
    for number in numbers:
        for place, (name, parent, start, attributes) in enumerate(conversation(number)):
            at = BEGIN + number * 1_000_000_000 + start * 1_000_000
            spans.append(
                {
                    "traceId": f"{number + 1:032x}",
                    "spanId": f"{number * 8 + place + 1:016x}",
                    "parentSpanId": "" if parent is None else f"{number * 8 + 1:016x}",
                    "name": name,
                    "kind": 1,
                    "startTimeUnixNano": str(at),
                    "endTimeUnixNano": str(at + 4_000_000),
                    "attributes": [
                        {
                            "key": key,
                            "value": {"intValue": str(value)}
                            if isinstance(value, int)
                            else {"stringValue": value},
                        }
                        for key, value in attributes.items()
                    ],
                    "status": {},
                }
            )
    request = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]}
    return json.dumps(request, separators=(",", ":")).encode()


def as_protobuf(numbers):
    spans = b""
    parts = []
    for number in numbers:
        for place, (name, parent, start, attributes) in enumerate(conversation(number)):
            at = BEGIN + number * 1_000_000_000 + start * 1_000_000
            span = field(1, (number + 1).to_bytes(16)) + field(2, (number * 8 + place + 1).to_bytes(8))
            if parent is not None:
                span += field(4, (number * 8 + 1).to_bytes(8))
            span += field(5, name.encode()) + b"\x30\x01"
            span += b"\x39" + struct.pack("<Q", at) + b"\x41" + struct.pack("<Q", at + 4_000_000)
            for key, value in attributes.items():
                told = b"\x18" + varint(value) if isinstance(value, int) else field(1, value.encode())
                span += field(9, field(1, key.encode()) + field(2, told))
            parts.append(field(2, span))
    spans = b"".join(parts)
    return field(1, field(2, field(1, field(1, b"x")) + spans))


def varint(number):
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


# ---------------------------------------------------------------------- what is measured


def seconds_a_span(form, spans):
    """Processor seconds that reading a file as traces takes for each span."""
    from calipers.spans import read_traces

    conversations = spans // PER_CONVERSATION
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "spans")
        path.write_bytes((as_json if form == "JSON" else as_protobuf)(range(conversations)))
        start = time.process_time()
        traces = read_traces(path)
        seconds = time.process_time() - start
    assert len(traces) == conversations
    assert len(traces[0].tool_calls) == 2
    return seconds / (conversations * PER_CONVERSATION)


def imported(spans):
    """(seconds, peak bytes) of `calipers import` for a file of export requests, one a line."""
    conversations = spans // PER_CONVERSATION
    with tempfile.TemporaryDirectory() as folder:
        with Path(folder, "spans.jsonl").open("wb") as file:
            file.writelines(
                as_json(range(first, min(first + 50, conversations))) + b"\n"
                for first in range(0, conversations, 50)
            )
        command = [sys.executable, "-m", "calipers", "import", "spans.jsonl", "--store", "runs.db"]
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"calipers import ended with {process.returncode}")
        return time.perf_counter() - start, usage.ru_maxrss * 1024


def peak_memory(spans):
    return imported(spans)[1]


def import_seconds(spans):
    return imported(spans)[0]


# ---------------------------------------------------------------------- over the wire

PER_REQUEST = 85
"""Conversations in one request: about the 512 spans that an exporter sends at once."""


def received(spans):
    """(seconds until all requests are acknowledged, until all are stored, processor seconds of the receiver); nothing may be lost."""
    import http.client
    import signal

    from calipers.stores import open_store

    conversations = spans // PER_CONVERSATION
    bodies = [
        as_protobuf(range(first, min(first + PER_REQUEST, conversations)))
        for first in range(0, conversations, PER_REQUEST)
    ]
    headers = {"content-type": "application/x-protobuf"}
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "calipers",
            "receive",
            "--port",
            "0",
            "--wait",
            "1",
            "--store",
            "runs.db",
        ]
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        port = int(process.stderr.readline().partition("127.0.0.1:")[2].partition("/")[0])
        client = http.client.HTTPConnection("127.0.0.1", port)
        start = time.perf_counter()
        for body in bodies:
            while True:
                client.request("POST", "/v1/traces", body, headers)
                answer = client.getresponse()
                answer.read()
                if answer.status != 429:
                    break
                time.sleep(float(answer.headers["retry-after"]))
            if answer.status != 200:
                raise RuntimeError(f"refused with {answer.status}")
        sent = time.perf_counter() - start
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        with open_store(Path(folder, "runs.db"), existing=True) as store:
            kept = store.run("latest").attempts
    if kept != conversations:
        raise RuntimeError(f"{conversations - kept} of {conversations} conversations were lost")
    return sent, seconds, usage.ru_utime + usage.ru_stime


def received_seconds(spans):
    """Seconds a span, from the first request until everything is stored."""
    return received(spans)[1] / (spans // PER_CONVERSATION * PER_CONVERSATION)
