"""An index as a store keeps it: columns as narrow, compressed byte strings, which are read one by one when they are asked for.

The manifest says which columns there are. It is written last, so an index without one is not whole. Blocks of texts and of peeks are parts of
their own. What was read of them once is in a temporary file, so that a second search does not ask the store.
"""

import contextlib
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np

from calipers.errors import StoreUnavailableError
from calipers.stores.run_info import RunInfo

from .index_builder import PEEKS
from .index_source import Group, Numbered, Peek, ResultColumn
from .run_index import RunIndex
from .spool import Spool
from .text_column import Block, TextColumn
from .value_column import Array, Column, Kind, ValueColumns

VERSION: Final = 1
"""Of the layout. An index of another one is made again."""
MANIFEST: Final = "manifest"
TEXTS: Final = ("case", "input", "output", "remarks")
_LEVEL: Final = 1
_AHEAD: Final = 16
"""Neighbouring blocks that are read at once."""
MOST_HELD: Final = 48_000_000
"""Bytes of columns that an index holds in memory."""

Read = Callable[[str, "Sequence[int] | None"], Mapping[int, bytes]]
"""Gives the parts of a name, all or those of some numbers."""


class KeptColumn(msgspec.Struct):
    """A column of an index that is kept."""

    field: str
    kind: Kind
    size: int
    has_rows: bool
    """Whether some attempts have no value."""


class KeptText(msgspec.Struct):
    """A column of texts that is kept."""

    blocks: list[tuple[int, int]]
    """Of each, its first row and how many rows it has."""
    cut: list[int]


class Manifest(msgspec.Struct):
    """What an index consists of."""

    version: int
    generation: int
    """Of the run when it was read."""
    changes: int
    attempts: int
    cases: int
    in_order: bool
    """Whether the attempts are in the order of their positions, without a gap."""
    alone: bool
    """Whether each attempt is a case of its own, in order."""
    columns: list[KeptColumn]
    results: list[ResultColumn]
    texts: dict[str, KeptText]


# ---------------------------------------------------------------------- out


def pack_index(index: RunIndex, changes: int) -> Iterator[tuple[str, int, bytes]]:
    """The parts of an index by name and number; the manifest comes last.

    Args:
        index: of a run.
        changes: how often the run had been changed when it was read.
    """
    n, source = index.attempts, index.source
    numbered = index.numbered
    in_order = bool((index.positions == np.arange(n)).all())
    alone = len(numbered.keys) == n and bool((numbered.case_of == np.arange(n)).all())
    yield "outcome", 0, _packed(source.array("outcome")[:n])
    yield "keys", 0, _packed(numbered.keys)
    yield "name_ranks", 0, _packed(_narrow(index.name_ranks))
    if not in_order:
        yield "position", 0, _packed(_narrow(index.positions))
    if not alone:
        yield "case_of", 0, _packed(_narrow(numbered.case_of))
    columns: list[KeptColumn] = []
    for field in source.sizes():
        for kind, column in source.values(field).parts.items():
            yield from _pack_column(field, kind, column, n, columns)
    texts: dict[str, KeptText] = {}
    for name in TEXTS:
        text = source.text(name)
        blocks = text.blocks
        texts[name] = KeptText([(block.first, block.rows) for block in blocks], list(text.cut))
        for number, block in enumerate(blocks):
            yield f"text {name}", number, zlib.compress(text.read(block.number), _LEVEL)
    for number in range(-(-n // PEEKS)):
        yield "peeks", number, zlib.compress(msgspec.msgpack.encode(source.peeks([number])[number]), _LEVEL)
    yield "groups", 0, zlib.compress(msgspec.json.encode(index.groups), _LEVEL)
    manifest = Manifest(
        version=VERSION,
        generation=index.info.generation,
        changes=changes,
        attempts=n,
        cases=len(numbered.keys),
        in_order=in_order,
        alone=alone,
        columns=columns,
        results=index.results,
        texts=texts,
    )
    yield MANIFEST, 0, msgspec.json.encode(manifest)


def _pack_column(
    field: str, kind: Kind, column: Column, n: int, columns: list[KeptColumn]
) -> Iterator[tuple[str, int, bytes]]:
    values, rows = column.parts(n)
    if kind != "float":
        values = _narrow(values)
    elif bool((values.astype(np.float32) == values).all()):
        values = values.astype(np.float32)
    name = f"{kind} {field}"
    columns.append(KeptColumn(field, kind, len(values), rows is not None))
    yield name, 0, _packed(values)
    if rows is not None:
        yield f"rows {name}", 0, _packed(rows)
    if kind == "code":
        table = column.table[: int(values.max(initial=0))]
        yield f"table {name}", 0, zlib.compress(msgspec.json.encode(table), _LEVEL)


def _narrow(values: Array) -> Array:
    """Whole numbers in as few bytes as they take."""
    if not len(values):
        return values.astype(np.uint8)
    low, high = int(values.min()), int(values.max())
    for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return values.astype(kind)
    return values


_HEAD: Final = 4
"""Bytes that tell the type of the numbers behind them."""


def _packed(values: Array) -> bytes:
    return zlib.compress(values.dtype.str.encode().ljust(_HEAD) + values.tobytes(), _LEVEL)


def _unpacked(data: bytes) -> Array:
    return np.frombuffer(data, np.dtype(data[:_HEAD].decode().strip()), offset=_HEAD)


# ---------------------------------------------------------------------- in


class KeptIndex:
    """An index that a store keeps, as the columns of a `RunIndex`."""

    def __init__(self, info: RunInfo, manifest: Manifest, read: Read) -> None:
        """The index of a run.

        Args:
            info: of the run.
            manifest: of the index.
            read: gives its parts.
        """
        self.info = info
        self.size = manifest.attempts
        self.results: Sequence[ResultColumn] = manifest.results
        self._manifest = manifest
        self._read = read
        self._columns: dict[str, list[KeptColumn]] = {}
        for column in manifest.columns:
            self._columns.setdefault(column.field, []).append(column)
        self._arrays: dict[str, Array] = {}
        self._held: dict[str, tuple[ValueColumns, int]] = {}
        self._lock = threading.Lock()
        spool = Spool(held=0)
        self._texts = {
            name: TextColumn(
                _Blocks(f"text {name}", len(kept.blocks), read, spool).read,
                [Block(number, first, rows) for number, (first, rows) in enumerate(kept.blocks)],
                kept.cut,
            )
            for name, kept in manifest.texts.items()
        }
        self._peeks = _Blocks("peeks", -(-self.size // PEEKS), read, spool)

    def _part(self, name: str) -> bytes:
        return zlib.decompress(_found(self._read(name, None), 0))

    def array(self, name: str) -> Array:
        """A value of every attempt."""
        found = self._arrays.get(name)
        if found is None:
            if name == "case":
                found = self.numbered.keys[self.numbered.case_of]
            elif name == "position" and self._manifest.in_order:
                found = np.arange(self.size)
            else:
                found = _unpacked(self._part(name))
            self._arrays[name] = (
                found if name == "outcome" else found.astype(np.int64 if name == "position" else np.uint64)
            )
        return self._arrays[name]

    @property
    def numbered(self) -> Numbered:
        """The cases."""
        return self._numbered

    @cached_property
    def _numbered(self) -> Numbered:
        keys = _unpacked(self._part("keys"))
        case_of = (
            np.arange(self.size)
            if self._manifest.alone
            else _unpacked(self._part("case_of")).astype(np.int64)
        )
        return Numbered(keys, case_of, lambda: _unpacked(self._part("name_ranks")).astype(np.int64))

    @property
    def groups(self) -> Sequence[Group]:
        """Complaints that are alike."""
        return self._groups

    @cached_property
    def _groups(self) -> list[Group]:
        return msgspec.json.decode(self._part("groups"), type=list[Group])

    def sizes(self) -> dict[str, int]:
        """By field, how many attempts have a value."""
        return {name: sum(each.size for each in columns) for name, columns in self._columns.items()}

    def values(self, name: str) -> ValueColumns:
        """The columns of a field; the ones that were last asked for are held."""
        with self._lock:
            found = self._held.pop(name, None)
            if found is None:
                columns, held = ValueColumns(), 0
                for each in self._columns.get(name, ()):
                    columns.parts[each.kind], size = self._column(each)
                    held += size
                found = columns, held
            self._held[name] = found
            while len(self._held) > 1 and sum(size for _, size in self._held.values()) > MOST_HELD:
                self._held.pop(next(iter(self._held)))
        return found[0]

    def _column(self, kept: KeptColumn) -> tuple[Column, int]:
        """A column, and about how many bytes it takes."""
        name = f"{kept.kind} {kept.field}"
        values = _unpacked(self._part(name))
        if kept.kind == "float":
            values = values.astype(np.float64)  # in single precision it would compare otherwise
        rows = _unpacked(self._part(f"rows {name}")) if kept.has_rows else None
        size = values.nbytes + (0 if rows is None else rows.nbytes)
        table: list[Any] = []
        if kept.kind == "code":
            data = self._part(f"table {name}")
            table = [_value(each) for each in msgspec.json.decode(data)]
            size += 4 * len(data) + 60 * len(table)
        return Column(kept.kind, values, rows, table), size

    def text(self, name: str) -> TextColumn:
        """The texts of attempts."""
        return self._texts[name]

    def peeks(self, blocks: Sequence[int]) -> dict[int, Sequence[Peek]]:
        """What a table shows of 128 attempts each, or of the last ones."""
        return {
            block: msgspec.msgpack.decode(data, type=list[Peek])
            for block, data in self._peeks.read_all(blocks).items()
        }

    def warm(self, closed: threading.Event) -> None:
        """Read what searches will ask for, unless the viewer ends."""
        for column in self._texts.values():
            for block in column.blocks:
                if closed.is_set():
                    return
                column.read(block.number)


def _value(value: Any) -> Any:
    """A value of a table: several values are a tuple."""
    return tuple(value) if isinstance(value, list) else value


def _found(parts: Mapping[int, bytes], number: int) -> bytes:
    if number not in parts:
        raise StoreUnavailableError("the index of the run was replaced while it was read: try again")
    return parts[number]


class _Blocks:
    """Blocks of a name, read from the store once, some neighbours at a time."""

    def __init__(self, name: str, count: int, read: Read, spool: Spool) -> None:
        self._name = name
        self._count = count
        self._read = read
        self._spool = spool
        self._places: dict[int, int] = {}
        self._last = -2
        self._lock = threading.Lock()

    def read(self, number: int) -> bytes:
        """A block by its number, and those that follow, if it follows the one that was read last."""
        if number in self._places:
            self._last = number
            return self._spool.read(self._places[number])
        ahead = _AHEAD if number == self._last + 1 else 1
        self._last = number
        return self.read_all(range(number, min(number + ahead, self._count)))[number]

    def read_all(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Some blocks by their numbers."""
        found = {each: self._spool.read(self._places[each]) for each in numbers if each in self._places}
        missing = [each for each in numbers if each not in found]
        if missing:
            with self._lock:
                parts = self._read(self._name, missing)
                for each in missing:
                    found[each] = zlib.decompress(_found(parts, each))
                    if each not in self._places:
                        self._put(each, found[each])
        return found

    def _put(self, number: int, data: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk: it is read from the store again
            self._places[number] = self._spool.add(data)


def read_manifest(parts: Mapping[int, bytes], generation: int, changes: int) -> Manifest | None:
    """The manifest of an index, if the index is whole, and of the run in a generation and after so many changes."""
    body = parts.get(0)
    if body is None:
        return None
    try:
        found = msgspec.json.decode(body, type=Manifest)
    except msgspec.DecodeError:
        return None
    is_now = (found.version, found.generation, found.changes) == (VERSION, generation, changes)
    return found if is_now else None
