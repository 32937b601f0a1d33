"""JSON Lines: one case per line, as an object with the keys of a case.

msgspec decodes the lines quickly. Only a line that it refuses is read again, slowly, to say what is wrong and where. A key that
stands twice in one object is found by a strict reading only.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from calipers.data.case import Case

from .case_data import CaseReader, name_in
from .json_reader import parse_json
from .lazy_cases import Found, LazyCases, Rejected
from .problem import ABSENT, Problems, not_utf8

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _Fields(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    name: str | None = None
    expected_tool_calls: list[Any] | None = None
    evaluators: list[Any] = []
    cluster: str | None = None
    tags: list[str] = []
    timeout: int | float | None = None


class _Line(_Fields, forbid_unknown_fields=True, kw_only=True):
    """A case whose values are not validated."""

    inputs: Any
    metadata: Any = None
    expected_output: Any = msgspec.UNSET


class _RawLine(_Fields, forbid_unknown_fields=True, kw_only=True):
    """A case whose values are validated from their text."""

    inputs: msgspec.Raw
    metadata: msgspec.Raw = msgspec.Raw(b"null")
    expected_output: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class JSONLines(LazyCases):
    """The cases of a JSON Lines file."""

    unit = "line"

    def __init__(self, path: Path, reader: CaseReader) -> None:
        super().__init__(path)
        self._reader = reader

    def read(self, *, strict: bool = False) -> Iterator[tuple[int, Found]]:
        """Each case, or what is wrong with its line."""
        quickly = self._decoder()
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
                if text.isspace() or not text:
                    continue
                try:
                    case = quickly(text)
                except Exception:
                    yield number, self._slowly(number, text)
                    continue
                yield number, (self._slowly(number, text) if strict and _repeats_a_key(text) else case)

    def _decoder(self) -> Callable[[bytes], Case[Any, Any, Any]]:
        if not self._reader.types.are_any:
            return self._validating_decoder()
        decode = msgspec.json.Decoder(_Line).decode

        def make(text: bytes) -> Case[Any, Any, Any]:
            line = decode(text)
            fields: dict[str, Any] = {}
            if line.expected_output is not msgspec.UNSET:
                fields["expected_output"] = line.expected_output
            if line.evaluators:
                fields["evaluators"] = self._evaluators(line.evaluators)
            return Case(
                name=line.name,
                inputs=line.inputs,
                metadata=line.metadata,
                cluster=line.cluster,
                tags=line.tags,
                expected_tool_calls=line.expected_tool_calls,
                timeout=line.timeout,
                **fields,
            )

        return make

    def _validating_decoder(self) -> Callable[[bytes], Case[Any, Any, Any]]:
        decode = msgspec.json.Decoder(_RawLine).decode
        read_inputs, read_output, read_metadata = (
            msgspec.json.decode if each.is_any else each.read_raw for each in self._reader.types
        )

        def make(text: bytes) -> Case[Any, Any, Any]:
            line = decode(text)
            fields: dict[str, Any] = {}
            if line.expected_output is not msgspec.UNSET:
                expected = bytes(line.expected_output)
                fields["expected_output"] = None if expected == b"null" else read_output(expected)
            metadata = bytes(line.metadata)
            if metadata != b"null":
                fields["metadata"] = read_metadata(metadata)
            if line.evaluators:
                fields["evaluators"] = self._evaluators(line.evaluators)
            return Case(
                name=line.name,
                inputs=read_inputs(bytes(line.inputs)),
                cluster=line.cluster,
                tags=line.tags,
                expected_tool_calls=line.expected_tool_calls,
                timeout=line.timeout,
                **fields,
            )

        return make

    def _evaluators(self, specs: list[Any]) -> list[Any]:
        problems = Problems("")
        made = self._reader.read_evaluators(specs, (), problems)
        if problems.found:
            raise ValueError("the slow reading says what is wrong")
        return made

    def _slowly(self, number: int, line: bytes) -> Found:
        problems = Problems(str(self.path), line=number)
        try:
            text = line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            column = len(line[: error.start].decode()) + 1
            problems.add_at(number, column, not_utf8("the line", line, error.start))
            return Rejected(problems.found)
        data = parse_json(text, problems)
        case = None if data is ABSENT else self._reader.read(data, (), problems)
        if case is not None and not problems.found:
            return case
        return Rejected(problems.found, name_in(data))


def _repeats_a_key(line: bytes) -> bool:
    repeated = False

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(pairs)
        repeated = repeated or len(found) < len(pairs)
        return found

    json.loads(line, object_pairs_hook=look)
    return repeated


def encode_line(data: dict[str, Any]) -> bytes:
    """Plain data as one line."""
    return msgspec.json.encode(data) + b"\n"
