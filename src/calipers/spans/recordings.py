"""Recordings: files with spans, log records or message histories, read as traces. `read_traces`, `Recording`.

    for trace in read_traces("spans.json", "logs.json"):
        print(trace.output_text, trace.tool_calls)

| file | what it is |
|---|---|
| OTLP, JSON or protobuf | an export request; several, one a line (JSON) or one after the other with their sizes (protobuf) |
| a list of spans | as the Python SDK prints them with `to_json`, and as Phoenix, Langfuse and LangSmith give them out |
| a message history | a list of messages, or an object with `messages`; one a line for many |

Each may be compressed with gzip. A folder stands for all files in it. The content of a file says what it is, not its name.
All files given together are one recording: neither the order of spans nor the file that one stands in matters.

What cannot be read is noted, and the rest is kept: a line that is damaged, a file that is cut off, spans that follow no known
convention. `Recording.notes` has these words, and each trace those about itself in `metadata["notes"]`.
"""

import contextlib
import gc
import io
import os
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from calipers.data.trace import Trace
from calipers.errors import InvalidTraceError
from calipers.stats.number_text import plural

from . import otlp_json, otlp_protobuf
from .conversation_trace import trace_of, trace_of_history
from .exported_spans import exported_spans
from .messages import Message, Usage, read_messages, usage_of
from .otlp_json import SpanLog, join_logs
from .runs import conversations, runs_in
from .span_spool import SpanSpool
from .tree import SpanNode, SpanTree

_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 20
_MOST_IN_MEMORY: Final = 1 << 25
"""Bytes of files that are read into memory. As objects of Python they take several times as much."""
_PIECE: Final = 256
_MANY_TRACES: Final = 1000
"""For fewer it does not matter how long the collector takes."""
_MOST_NAMES: Final = 3
"""How many names a note lists."""


class History(NamedTuple):
    """A message history."""

    messages: list[Message]
    usages: list[Usage | None]
    """What each answer of a model cost."""


class Recording(NamedTuple):
    """What some files hold."""

    traces: list[Trace]
    notes: list[str]
    """What could not be read, in words."""


def read_traces(*paths: str | os.PathLike[str]) -> list[Trace]:
    """The conversations in some files, each as a trace: those of spans in order of their start, then message histories.

    Raises:
        InvalidTraceError: the files hold no conversation; the message says what they hold.
        OSError: a file cannot be read.
    """
    recording = read_recording(*paths)
    if not recording.traces:
        listed = ", ".join(repr(str(path)) for path in paths)
        why = f": {'; '.join(recording.notes)}" if recording.notes else ""
        raise InvalidTraceError(f"no conversation found in {listed or 'no files'}{why}")
    return recording.traces


def read_recording(*paths: str | os.PathLike[str]) -> Recording:
    """The conversations in some files, and what could not be read."""
    notes: dict[str, None] = {}
    with _collector_paused:
        traces = list(iter_traces(paths, notes.setdefault))
        if len(traces) >= _MANY_TRACES and not gc.get_freeze_count():
            # They stay: this puts them among the oldest objects, where the collector would put them after a look at each.
            gc.freeze()
            gc.unfreeze()
    return Recording(traces, list(notes))


def iter_traces(
    paths: Sequence[str | os.PathLike[str]], note: Callable[[str], Any], *, most_bytes: int = _MOST_IN_MEMORY
) -> Iterator[Trace]:
    """The conversations in some files, one after the other.

    Args:
        paths: of files and folders.
        note: is told what could not be read.
        most_bytes: of all files, that are read into memory; more are sorted on disk.

    Raises:
        OSError: a file cannot be read.
    """
    files = list(_files(paths))
    histories: list[History] = []
    with SpanSpool() if sum(map(_size, files)) > most_bytes else _Memory() as spool:
        with _collector_paused:
            for found in read_files(files, note):
                if isinstance(found, History):
                    histories.append(found)
                else:
                    spool.add_all(found)
            groups = spool.groups()
            first = [trace for spans, logs in islice(groups, 1) for trace in traces_of(spans, logs, note)]
        yield from first
        for spans, logs in groups:
            yield from traces_of(spans, logs, note)
    for history in histories:
        yield trace_of_history(history.messages, history.usages)


class _Memory(contextlib.nullcontext["_Memory"]):
    """Spans and log records in memory: one group."""

    def __init__(self) -> None:
        super().__init__(self)
        self._items: list[SpanNode | SpanLog] = []
        self.add_all = self._items.extend

    def groups(self) -> Iterator[tuple[list[SpanNode], list[SpanLog]]]:
        spans = [item for item in self._items if isinstance(item, SpanNode)]
        logs = [item for item in self._items if isinstance(item, SpanLog)]
        self._items.clear()
        yield spans, logs


def traces_of(
    spans: Iterable[SpanNode], logs: Iterable[SpanLog] = (), note: Callable[[str], Any] = lambda _: None
) -> list[Trace]:
    """The conversations that some spans and log records tell of."""
    with _collector_paused:
        return _traces_of(list(spans), logs, note)


class _CollectorPause:
    """A block that makes many objects which all stay: looking for garbage among them again and again would take half of the time.

    The collector belongs to the whole process. Of blocks that overlap, in each other or in several threads, the first pauses it
    and the last lets it go on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = 0
        self._was_on = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._blocks:
                self._was_on = gc.isenabled()
                gc.disable()
            self._blocks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks and self._was_on:
                gc.enable()


_collector_paused: Final = _CollectorPause()


def _traces_of(nodes: Sequence[SpanNode], logs: Iterable[SpanLog], note: Callable[[str], Any]) -> list[Trace]:
    if homeless := join_logs(nodes, logs):
        note(f"{plural(homeless, 'log record')} without a span: it is not in these files")
    tree = SpanTree(nodes)
    if lost := [node for node in tree.roots if node.parent_span_id is not None]:
        _note_lost(lost, tree, note)
    runs, unread = runs_in(tree)
    known = {run.trace_id for run in runs} if unread else ()
    if strange := [node.name for node in unread if node.trace_id not in known]:
        strangers = Counter(strange)
        names = ", ".join(repr(name) for name, _ in strangers.most_common(_MOST_NAMES))
        more = len(strangers) - _MOST_NAMES
        note(
            f"{plural(len(strange), 'span')} outside of any run of an agent, by no known convention: "
            f"{names}{f' and {more} more' if more > 0 else ''}"
        )
    traces = [trace_of(conversation) for conversation in conversations(runs)]
    for node in tree:  # without the circles they are gone at once, and the collector has nothing to look for
        if node.children:
            node.children = ()
    return traces


def _note_lost(roots: Iterable[SpanNode], tree: SpanTree, note: Callable[[str], Any]) -> None:
    """Note spans without the parent that they name. Without numbers: groups of spans are read one after the other."""
    known = {(node.trace_id, node.span_id) for node in tree}
    for node in roots:
        if (node.trace_id, node.parent_span_id) in known:
            note(
                "some spans are each other's parents: of each such circle the span that began first stands above the others"
            )
        else:
            note("some spans name a parent that is not in the recording: they were read without it")


# ---------------------------------------------------------------------- files


def read_files(
    paths: Iterable[str | os.PathLike[str]], note: Callable[[str], Any]
) -> Iterator[list[SpanNode | SpanLog] | History]:
    """What some files and folders hold, piece by piece: some spans and log records, or a message history.

    Raises:
        OSError: a file cannot be read.
    """
    for place in _files(paths):
        with place.open("rb") as file:
            begin = file.read(2)
            file.seek(0)
            yield from _read_file(_Unzipped(file) if begin == _GZIP else file, str(place), note)


def _files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path]:
    """The files among some paths, and those in the folders among them."""
    for path in paths:
        place = Path(path)
        if place.is_dir():
            yield from sorted(
                each for each in place.rglob("*") if each.is_file() and not each.name.startswith(".")
            )
        else:
            yield place


def _size(place: Path) -> int:
    """How much a file holds, about: what is compressed holds ten times as much."""
    with place.open("rb") as file:
        return place.stat().st_size * (10 if file.read(2) == _GZIP else 1)


class _Unzipped:
    """A compressed file as if it were not. Of one that is cut off, all is read up to the cut."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._unzip = zlib.decompressobj(wbits=31)
        self._waiting = b""
        self.is_cut = False

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._waiting) < size:
            chunk = self._file.read(_CHUNK)
            if not chunk:
                self.is_cut = self.is_cut or not self._unzip.eof
                break
            try:
                self._waiting += self._unzip.decompress(chunk)
                while self._unzip.eof and self._unzip.unused_data:  # several, one after the other
                    rest = self._unzip.unused_data
                    self._unzip = zlib.decompressobj(wbits=31)
                    self._waiting += self._unzip.decompress(rest)
            except zlib.error:
                self.is_cut = True
                break
        size = len(self._waiting) if size < 0 else size
        found, self._waiting = self._waiting[:size], self._waiting[size:]
        return found


def _read_file(
    file: BinaryIO | _Unzipped, name: str, note: Callable[[str], Any]
) -> Iterator[list[SpanNode | SpanLog] | History]:
    begin = file.read(_CHUNK)
    if not begin:
        note(f"{name!r} is empty")
        return
    is_text = begin.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"{", b"["}
    if is_text and not (begin[:1] == b"\n" and otlp_protobuf.is_request(begin)):
        yield from _read_text(file, begin.removeprefix(b"\xef\xbb\xbf"), name, note)
    else:
        yield from _read_binary(file, begin, name, note)
    if isinstance(file, _Unzipped) and file.is_cut:
        note(f"{name!r} is cut off: its end is missing, what stands before it was read")


def _read_binary(
    file: BinaryIO | _Unzipped, begin: bytes, name: str, note: Callable[[str], Any]
) -> Iterator[list[SpanNode | SpanLog]]:
    try:
        more = file.read(_MOST_IN_MEMORY)
        if len(more) == _MOST_IN_MEMORY and otlp_protobuf.is_request(begin):
            yield from _in_pieces(otlp_protobuf.read_large_request(_after(begin, _after(more, file.read))))
            return
        data = begin + more + file.read()
        requests = [data] if otlp_protobuf.is_request(data) else otlp_protobuf.sized_requests(data)
        if not requests:
            note(f"{name!r} is no recording: it is neither JSON nor OTLP; it begins {data[:20]!r}")
        for request in requests:
            yield from _in_pieces(otlp_protobuf.read_request(request))
    except otlp_protobuf.CutError as error:
        note(f"{name!r} is cut off or damaged: {error}; what stands before that was read")


def _in_pieces(items: Iterable[SpanNode | SpanLog]) -> Iterator[list[SpanNode | SpanLog]]:
    """Some things, many at a time; those before an error come before it."""
    piece: list[SpanNode | SpanLog] = []
    try:
        for item in items:
            piece.append(item)
            if len(piece) == _PIECE:
                yield piece
                piece = []
    finally:
        yield piece


def _after(data: bytes, read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """What reads some bytes first, and then what is read after them."""
    begun = io.BytesIO(data)
    return lambda size: begun.read(size) or read(size)


def _read_text(
    file: BinaryIO | _Unzipped, begin: bytes, name: str, note: Callable[[str], Any]
) -> Iterator[list[SpanNode | SpanLog] | History]:
    first, newline, rest = begin.lstrip().partition(b"\n")
    if newline and rest.strip() and _is_whole(first):
        yield from _read_lines(_lines(begin, file), name, note)
        return
    if len(begin) >= _CHUNK and any(name in begin[:200] for name in (b'"resourceSpans"', b'"resourceLogs"')):
        more = file.read(_MOST_IN_MEMORY)
        if len(more) == _MOST_IN_MEMORY:
            yield from otlp_json.read_pieces(begin, _after(more, file.read))
            return
        document = begin + more
    else:
        document = begin + file.read()
    try:
        yield from _read_document(document, name, note)
    except msgspec.DecodeError as error:
        spans = list(otlp_json.read_loosely(document))
        yield spans
        kept = f"; what stands before that was read: {plural(len(spans), 'span')}" if spans else ""
        note(f"{name!r} is cut off or damaged: {error}{kept}")


def _is_whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _lines(begin: bytes, file: BinaryIO | _Unzipped) -> Iterator[bytes]:
    waiting = begin
    while True:
        *whole, waiting = waiting.split(b"\n")
        yield from whole
        chunk = file.read(_CHUNK)
        if not chunk:
            break
        waiting += chunk
    if waiting:
        yield waiting


def _read_lines(
    lines: Iterable[bytes], name: str, note: Callable[[str], Any]
) -> Iterator[list[SpanNode | SpanLog] | History]:
    single: list[Any] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            items = list(_read_document(line, name, note, single))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield list(otlp_json.read_loosely(line))
            note(f"line {number} of {name!r} is damaged: {error}")
            continue
        yield from items
    if single:  # one message a line
        yield _history(single)


def _read_document(
    document: bytes, name: str, note: Callable[[str], Any], single: list[Any] | None = None
) -> Iterator[list[SpanNode | SpanLog] | History]:
    """What one JSON document holds. `single` takes messages that stand alone."""
    head = document[:200]
    if b'"resourceSpans"' in head or b'"resourceLogs"' in head:
        yield otlp_json.read_request(document)
        return
    data = msgspec.json.decode(document)
    exported = exported_spans(data, lambda words: note(f"{name!r}: {words}"))
    if exported:
        yield [*exported]
    elif isinstance(data, dict) and data.keys() & {"resourceSpans", "resourceLogs"}:
        yield otlp_json.read_request(document)
    elif single is not None and isinstance(data, dict) and "messages" not in data and read_messages([data]):
        single.append(data)
    else:
        listed = data.get("messages") if isinstance(data, dict) else data
        found = _history(listed if isinstance(listed, list) else [])
        if found.messages:
            yield found
        else:
            note(f"{name!r} holds JSON that is neither spans nor messages; it begins {document[:40]!r}")


def _history(entries: Sequence[Any]) -> History:
    messages: list[Message] = []
    usages: list[Usage | None] = []
    for entry in entries:
        found = read_messages([entry])
        messages += found
        usages += [usage_of(entry) for message in found if message.role == "assistant"]
    return History(messages, usages)
