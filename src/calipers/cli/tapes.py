"""The tapes of `calipers run`: which task is recorded or replayed on which, and what to say of it afterwards."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from calipers.agents.recorded_task import RecordedTask
from calipers.agents.replayed_task import Fork, ReplayedTask
from calipers.agents.tape import TapeFile
from calipers.cli.output import PLACEHOLDER
from calipers.errors import InvalidOptionError
from calipers.stats.number_text import plural

_SHOWN = 5
"""Exchanges that a line names."""


def make_tapes(
    *,
    record: str | None,
    replay: str | None,
    fork_at: int | None,
    fork_model: str | None,
    fork_prompt: str | None,
    fork_result: str | None,
    resumes: bool,
    reuses: bool,
    redacts: bool,
    unredacted: bool,
) -> "Tapes":
    """The tapes that the options of `calipers run` ask for.

    Raises:
        InvalidOptionError: they do not go together.
    """
    if record is not None and reuses:
        raise InvalidOptionError(
            "--record-tape records the attempts that are made, and --reuse leaves some out: remove one of them"
        )
    if record is not None and redacts and not unredacted:
        raise InvalidOptionError(
            "--record-tape writes word for word what was asked and answered, also what --redact and the redact of calipers.toml hide in the "
            "store: on a tape it stands in prompts, in texts of JSON and in pieces of streams, where hooks do not find it. If the cases "
            "hold nothing to hide, say so with --unredacted-tape"
        )
    if fork_at is None:
        changes = {"model": fork_model, "prompt": fork_prompt, "result": fork_result}
        for name, value in changes.items():
            if value is not None:
                raise InvalidOptionError(f"--fork-{name} needs the exchange to fork at: add --fork-at STEP")
        return Tapes(record, replay, None, append=resumes, unredacted=unredacted)
    if replay is None:
        raise InvalidOptionError("--fork-at needs a tape to fork from: add --replay-tape FILE")
    result: Any = msgspec.UNSET
    if fork_result is not None:
        try:
            result = json.loads(fork_result)
        except ValueError as error:
            raise InvalidOptionError(
                f"--fork-result must be JSON, such as '\"sold out\"' or '{{\"price\": 3}}', got {fork_result!r}: {error}"
            ) from None
    fork = Fork(at=fork_at, model=fork_model, prompt=fork_prompt, result=result)
    return Tapes(record, replay, fork, append=resumes, unredacted=unredacted)


@dataclass
class Tapes:
    """The tapes of one `calipers run`."""

    record: str | None
    """The path of those to record."""
    replay: str | None
    """The path of those to replay."""
    fork: Fork | None
    append: bool = field(kw_only=True)
    """Whether to add to the tape that is recorded: the run is resumed."""
    unredacted: bool = field(default=False, kw_only=True)
    """Whether a tape may have what the store hides."""
    _replayed: ReplayedTask | None = None
    """The task that ran last."""

    def check(self, names: Sequence[str], folder: Path) -> None:
        """Refuse one tape for several evaluations, and one that cannot be written or read, before anything runs.

        Raises:
            InvalidOptionError: a path is wrong.
            TapeFileError: a tape cannot be read.
        """
        for option, path in (("--record-tape", self.record), ("--replay-tape", self.replay)):
            if path is not None and len(names) > 1 and PLACEHOLDER not in path:
                raise InvalidOptionError(
                    f"{option} {path} is one tape for {plural(len(names), 'evaluation')}: write {PLACEHOLDER} in it, "
                    "or run one of them"
                )
        for name in names:
            record, replay = _path(self.record, name), _path(self.replay, name)
            if record is not None:
                TapeFile(folder / record)
            if (
                replay is not None
                and record is not None
                and (folder / replay).resolve() == (folder / record).resolve()
            ):
                raise InvalidOptionError(
                    f"--record-tape {record} would overwrite the tape that is replayed: name another file"
                )

    def around(self, task: Any, name: str) -> Any:
        """The task of an evaluation, recorded or replayed. The tape stands outside of all else: it has what the agent saw."""
        replay, record = _path(self.replay, name), _path(self.record, name)
        if replay is not None:
            task = self._replayed = ReplayedTask(task, replay, self.fork)
        if record is None:
            return task
        return RecordedTask(task, record, append=self.append, unredacted=self.unredacted)

    def metadata(self, name: str) -> dict[str, Any] | None:
        """What the report of an evaluation says of its tapes."""
        told: dict[str, Any] = {
            "recorded_on": _path(self.record, name),
            "replayed_from": _path(self.replay, name),
        }
        if self.fork is not None:
            changed = {"model": self.fork.model, "prompt": self.fork.prompt}
            told["fork"] = {
                "at": self.fork.at,
                **{key: value for key, value in changed.items() if value is not None},
            }
            if self.fork.result is not msgspec.UNSET:
                told["fork"]["result"] = self.fork.result
        return {"tape": {key: value for key, value in told.items() if value is not None}}

    def lines(self) -> list[str]:
        """What to say of the evaluation that ran last."""
        replayed, self._replayed = self._replayed, None
        if replayed is None:
            return []
        left = [(key, each) for key, exchanges in replayed.unasked.items() for each in exchanges]
        from_tape, live = replayed.counts
        at = "" if replayed.fork is None else f", forked at step {replayed.fork.at}"
        told = [f"Replayed from {replayed.tape}{at}: {plural(from_tape, 'exchange')}, and {live:,} live"]
        if left:
            named = [f"step {each.step} of case {key.case!r} ({each.what})" for key, each in left[:_SHOWN]]
            more = [f"{len(left) - _SHOWN} more"] if len(left) > _SHOWN else []
            told.append(f"Never asked for, and on the tape {replayed.tape}: {', '.join([*named, *more])}")
        if replayed.unplayed:
            told.append(
                f"Not replayed: {plural(len(replayed.unplayed), 'attempt')} of the tape {replayed.tape}"
            )
        return told


def _path(path: str | None, name: str) -> str | None:
    """The tape of one evaluation."""
    return None if path is None else path.replace(PLACEHOLDER, name)
