"""The values of a stored attempt as the JSON that the store has, and the sounds in them: nothing is decoded that is not shown.

Each value has a *part name*, by which the page can ask for the whole of it: `output`, `attribute-3`, `details-0`. Names are our own; what others
called an attribute is no part of an address.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from calipers.data.jsonable import plain
from calipers.data.result_names import Names
from calipers.errors import StoreDamagedError
from calipers.stores.evaluator_slots import scored_places
from calipers.stores.packing import Record, unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.stored_attempt import StoredAttempt, StoredCell

from .sounds import FoundSound, sound_file, sounds_in

_NULL: Final = msgspec.Raw(b"null")
_TALK: Final = b'"calipers_rollout"'


class _Given(msgspec.Struct):
    """What an attempt was given, as `calipers.stores.packing` writes it."""

    inputs: msgspec.Raw = _NULL
    metadata: msgspec.Raw = msgspec.Raw()
    expected_output: msgspec.Raw = msgspec.Raw()
    expected_tool_calls: msgspec.Raw = msgspec.Raw()


class _Output(msgspec.Struct):
    """What came of it."""

    output: msgspec.Raw = _NULL
    attributes: dict[str, msgspec.Raw] = {}
    error_message: str = ""
    error_stacktrace: str = ""


_read_given: Final = msgspec.json.Decoder(_Given).decode
_read_output: Final = msgspec.json.Decoder(_Output).decode


class AttemptParts:
    """A stored attempt: its record without values, and its values as JSON."""

    def __init__(
        self, attempt: StoredAttempt, cells: Sequence[StoredCell], run: RunInfo, names: Names
    ) -> None:
        """Read an attempt.

        Raises:
            StoreDamagedError: it cannot be read.
        """
        self.attempt = attempt
        self.run = run
        places = scored_places(run.evaluators)
        self.record: Record = unpack(attempt, cells, run.evaluators, parts=False, scored=places, names=names)
        try:
            self._given = _read_given(attempt.given)
            self._output = _read_output(attempt.output)
        except msgspec.DecodeError as error:
            whose = f"attempt {attempt.name!r} of run {run.id!r}"
            raise StoreDamagedError(f"{whose} is damaged in the store: {error}") from error

    @property
    def error(self) -> str:
        """Why its task did not finish; "" if it did."""
        return self._output.error_message

    @property
    def stacktrace(self) -> str:
        """Where its task failed."""
        return self._output.error_stacktrace

    @property
    def attributes(self) -> list[tuple[str, str, bytes]]:
        """Name, part name and value of each attribute."""
        return [
            (name, f"attribute-{number}", bytes(raw))
            for number, (name, raw) in enumerate(self._output.attributes.items())
        ]

    def attribute(self, name: str) -> Any:
        """The value of an attribute; `None` if there is none."""
        raw = self._output.attributes.get(name)
        return None if raw is None else msgspec.json.decode(raw)

    @property
    def inputs(self) -> Any:
        """What was tried."""
        return msgspec.json.decode(self._given.inputs)

    @property
    def talk(self) -> Any:
        """The output, if it is a conversation; else `None`."""
        raw = bytes(self._output.output)
        return msgspec.json.decode(raw) if _TALK in raw else None

    # ------------------------------------------------------------------ parts

    def part(self, name: str) -> bytes | None:
        """A value by its part name, as JSON; empty if there is none, `None` if it is no part of an attempt."""
        expects = self.record.has_expected_output and not self._given.expected_output
        values = {
            "input": bytes(self._given.inputs),
            "expected": b"null" if expects else bytes(self._given.expected_output),
            "expected_calls": bytes(self._given.expected_tool_calls),
            "metadata": bytes(self._given.metadata),
            "output": b"" if self.attempt.failed else bytes(self._output.output),
            "error": _text(self.error),
            "traceback": _text(self.stacktrace),
        }
        if name in values:
            return values[name]
        kind, _, number = name.rpartition("-")
        if not number.isdecimal() or len(number) > 9:
            return None
        listed = {"attribute": self._attribute_values, "details": self.details, "reason": self._reasons}.get(
            kind
        )
        values_of_kind = [] if listed is None else listed()
        return values_of_kind[int(number)] if int(number) < len(values_of_kind) else None

    def _attribute_values(self) -> list[bytes]:
        return [bytes(raw) for raw in self._output.attributes.values()]

    def details(self) -> list[bytes]:
        """What else each of its results kept; empty where that is nothing."""
        results = getattr(self.record, "results", ())
        return [b"" if not each.metadata else msgspec.json.encode(plain(each.metadata)) for each in results]

    def _reasons(self) -> list[bytes]:
        return [_text(each.reason or "") for each in getattr(self.record, "results", ())]

    # ------------------------------------------------------------------ sounds

    def sounds(self, folders: Sequence[Path]) -> Iterator[tuple[str, FoundSound]]:
        """The sounds in its values and in files that it names, each with its part name."""
        for name, part, raw in self.attributes:
            named = msgspec.json.decode(raw) if raw.startswith(b'"') and b".wav" in raw[-8:] else None
            data = sound_file(named, folders)
            if data is not None:
                yield f"sound-{part}-file", FoundSound(name, data, "audio/wav")
            for number, found in enumerate(sounds_in(raw, name)):
                yield f"sound-{part}-{number}", found
        for part in ("output", "input", "expected", "metadata"):
            for number, found in enumerate(sounds_in(self.part(part) or b"", part)):
                yield f"sound-{part}-{number}", found


def _text(text: str) -> bytes:
    return msgspec.json.encode(text) if text else b""
