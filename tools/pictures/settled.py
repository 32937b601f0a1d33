"""A copy of a store in which nothing depends on when or how fast its runs were made: the same runs give the same pictures.

A run is exported, its lines are changed, and it is imported again. Times and durations are made up: each request to a model takes about a
second, each call of a tool a few hundredths. Ids and versions are counted, and the port of a server on this machine is always the same.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from calipers.exchange import export_run, import_run
from calipers.report.passport import passport_identity
from calipers.stores import SqliteStore

NOW = datetime(2026, 4, 3, 15, 0, tzinfo=UTC)
"""The moment at which all pictures are taken."""
SEED = 20260403
_PORT = re.compile(r"127\.0\.0\.1:\d+")
_ID = re.compile(r"^(?:[0-9a-f]{16}|[0-9a-f]{32})$")
_AT_ONCE = 8
"""Attempts in flight, where durations are made up."""


@dataclass(frozen=True)
class Began:
    """When a run began, and at which commit."""

    at: datetime
    commit: str | None = None


def settle(source: Path, target: Path, began: Callable[[int], Began], *, with_judging: bool = True) -> None:
    """Copy all runs of a store.

    Args:
        source: the store.
        target: where to make the copy.
        began: of the number of a run, from the first one on.
        with_judging: also copy labels, passports of judges and looks of gates.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    ids: dict[str, str] = {}
    versions: dict[str, str] = {}
    with SqliteStore(source) as old, SqliteStore(target) as new, TemporaryDirectory() as folder:
        for number, run in enumerate(reversed(old.runs())):
            start = began(number)
            ids[run.id] = f"{start.at:%Y%m%d-%H%M%S}000-{number:06x}"
            file = Path(folder) / f"{number}.jsonl"
            export_run(old, run.id, to=f"jsonl:{file}")
            lines = [msgspec.json.decode(_fixed(line, ids)) for line in file.read_text().splitlines()]
            _settle_run(lines, start, versions, is_labelled=with_judging)
            file.write_bytes(b"\n".join(msgspec.json.encode(line) for line in lines) + b"\n")
            import_run(file, new)
        if not with_judging:
            return
        for passport in old.passports():
            body = msgspec.json.decode(_fixed(msgspec.json.encode(passport.body).decode(), ids))
            at = (NOW - timedelta(hours=2)).isoformat(timespec="seconds")
            body |= {"identity": passport_identity(body["parts"]), "at": at}
            new.add_passport(msgspec.structs.replace(passport, identity=body["identity"], at=at, body=body))
        for look in old.looks():
            settled = msgspec.structs.replace(look, run=ids[look.run])
            new.add_look(f"gate of {settled.run}", settled, after=0)


def _fixed(text: str, ids: dict[str, str]) -> str:
    """A text with the settled ids of runs, and one port."""
    for old, new in ids.items():
        text = text.replace(old, new)
    return _PORT.sub("127.0.0.1:8000", text)


def _settle_run(
    lines: list[dict[str, Any]], start: Began, versions: dict[str, str], *, is_labelled: bool
) -> None:
    first, *attempts, last = lines
    spent = 0.0
    for number, line in enumerate(attempts):
        record = line["case"] if "case" in line else line["failure"]
        at = start.at + timedelta(seconds=spent / _AT_ONCE)
        spent += _settle_attempt(record, at, random.Random(f"{SEED} {number}"))
        if not is_labelled:
            record.pop("human_labels", None)
        for place, label in enumerate(record.get("human_labels", ())):
            label["at"] = (start.at + timedelta(minutes=20 + number / 10 + place)).isoformat()
    took = spent / _AT_ONCE + 0.5
    facts = {"started_at": start.at.isoformat(), "seed": SEED}
    for report in (first, last["end"]):
        report |= {**facts, "duration": took, "blocked": {}, "passports": {}}
    git = None if start.commit is None else {"commit": start.commit, "dirty": False}
    ended = start.at + timedelta(seconds=took)
    first["run"] |= {**facts, "ended_at": ended.isoformat(), "git": git}
    first["run"]["environment"] = {}
    for key in ("task_version", "task_key"):
        made = blake2b(str(len(versions)).encode(), digest_size=16).hexdigest()
        first["run"][key] = versions.setdefault(first["run"][key], made)


def _settle_attempt(record: dict[str, Any], at: datetime, draw: random.Random) -> float:
    """Make up the times of an attempt, and return how long it took."""
    trace = record.get("trace")
    steps = [] if trace is None else trace.get("turns", [])
    took = _settle_steps(steps, at, draw) or round(draw.uniform(0.2, 1.5), 3)
    for name in record.get("metrics", ()):
        if name.endswith("_seconds"):
            record["metrics"][name] = round(draw.uniform(0.01, 0.3), 3)
    record |= {"task_duration": took, "total_duration": took + 0.001}
    if trace is not None:
        trace |= {"total_latency_ms": 1000 * took, "created_at": at.isoformat()}
    _count_ids(record, {})
    return took


def _settle_steps(steps: list[dict[str, Any]], at: datetime, draw: random.Random) -> float:
    """One step after the other: the seconds that all of them take."""
    passed = 0.0
    for step in steps:
        now = (at + timedelta(seconds=passed)).isoformat()
        step["timestamp"] = now
        for kind, low, high in (("llm_call", 0.5, 1.6), ("tool_call", 0.02, 0.3)):
            if kind in step:
                seconds = round(draw.uniform(low, high), 3)
                step[kind] |= {"timestamp": now, "latency_ms": 1000 * seconds}
                passed += seconds + 0.004
    return round(passed, 3)


def _count_ids(value: Any, seen: dict[str, str]) -> None:
    """Replace random ids of traces, spans and turns by counted ones."""
    if isinstance(value, list):
        for each in value:
            _count_ids(each, seen)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key.endswith("_id") and isinstance(each, str) and _ID.match(each):
                value[key] = seen.setdefault(each, f"{len(seen) + 1:0{len(each)}x}")
            else:
                _count_ids(each, seen)
