"""A cache of speech: a folder of sounds, each found by its text and the synthesizer that said it.

- **The key** is the text, the synthesizer and all else that you put into it. A synthesizer whose configuration is unknown (see
  `cache_key`), or that changes as it speaks, is not cached, unless you say what tells it from others (`key_extra`). A warning
  says why.
- **An entry is one file**, written whole or not at all, named by a hash. It holds its own checksum; a damaged one is removed and
  made again. No entry holds the configuration, which may contain secrets.
- **One synthesis per key**: callers that ask while a sound is being made wait for it, in tasks, threads and (on POSIX)
  processes. If it fails, those in this process get the same error; if it is cancelled, another caller makes it.
- **Empty audio is not kept.**
"""

import asyncio
import concurrent.futures
import hashlib
import inspect
import json
import math
import os
import re
import sys
import threading
import time
import warnings
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from calipers.data.argument_checks import check_number
from calipers.errors import InvalidOptionError, TaskContractError
from calipers.process.atomic_file import write_whole
from calipers.process.user_code import call_in_thread
from calipers.voice.cache_key import NotPlainError, as_text, canonical, identity, known_identity

from .audio import Audio
from .protocols import Synthesizer, check_part

_VERSION = 2
"""Of keys and entries: other versions do not find these."""
_CHECK_LINE = 18
"""Bytes of the first line of an entry."""
_JUST_NOW = 10.0
"""Seconds in which a sound that is used again and again need not be marked again."""
_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_BY_NUMBER = os.utime in os.supports_fd
_ENTRY = re.compile(r"[0-9a-f]{64}\.audio")
_PATIENCE = 60.0
"""Seconds to wait for another process; one that takes longer may hang, and making a sound twice does no harm."""


class AudioCache:
    """A folder of sounds, each found by its key.

    ```python
    cache = AudioCache()
    key = cache.key("Book a table", synthesizer=voice)
    audio = await cache.get_or_make(key, lambda: voice.synthesize("Book a table"))
    ```

    `CachedSynthesizer` does this for every text.
    """

    def __init__(self, directory: str | os.PathLike[str] = ".calipers/audio") -> None:
        self.directory = Path(directory)
        self._flights: dict[str, concurrent.futures.Future[Audio | None]] = {}
        self._guard = threading.Lock()

    def __repr__(self) -> str:
        return f"AudioCache({str(self.directory)!r})"

    # ------------------------------------------------------------------ keys

    def key(
        self,
        text: str,
        *,
        synthesizer: Synthesizer | None = None,
        perturbation: str | None = None,
        extra: Any = None,
    ) -> str:
        """The name of the sound of a text: a hash of all that is given, each in its own place.

        Args:
            text: what is said.
            synthesizer: who says it.
            perturbation: the `key()` of what is done to the sound.
            extra: plain data that tells this sound from others.

        Raises:
            InvalidOptionError: a synthesizer that cannot tell its configuration, with no `extra` to make up for it, or
                an `extra` that is not plain data.
        """
        try:
            who = None if synthesizer is None else known_identity(synthesizer, spoken_for=extra is not None)
        except NotPlainError as error:
            raise InvalidOptionError(
                f"{synthesizer!r} does not say how it is configured, so its sound cannot be told from another's ({error}):"
                " give it a method cache_key(), or say what tells it from others with extra="
            ) from None
        return _key(text, who=who, perturbation=perturbation, extra=extra)

    # ------------------------------------------------------------------ entries

    def get(self, key: str) -> Audio | None:
        """The sound, or `None`. An entry that is damaged is removed."""
        path = self._path(key)
        try:
            file = os.open(path, _READING)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            raise _no_folder(self.directory) from None
        try:
            status = os.fstat(file)
            audio = _read_entry(key, file, status.st_size)
            # The time of the file is that of the last use, which is what `prune` goes by. A folder may be read-only.
            if audio is None or status.st_mtime < time.time() - _JUST_NOW:
                with suppress(OSError):
                    os.unlink(path) if audio is None else os.utime(file if _BY_NUMBER else path)  # noqa: PTH108 - see `_path`
        finally:
            os.close(file)
        return audio

    def put(self, key: str, audio: Audio, *, text: str = "") -> bool:
        """Keep a sound; `text` is only for people who look into the file. Empty audio is not kept.

        Returns:
            Whether it was kept.
        """
        if audio.is_empty:
            return False
        try:
            write_whole(Path(self._path(key)), _entry(key, audio, text))
        except (FileExistsError, NotADirectoryError):
            raise _no_folder(self.directory) from None
        return True

    async def get_or_make(self, key: str, make: Callable[[], Awaitable[Audio]], *, text: str = "") -> Audio:
        """The sound, made and kept if it is not there. Of all callers at the same time, one makes it."""
        while True:
            if (found := self.get(key)) is not None:
                return found
            with self._guard:
                flight = self._flights.get(key)
                leads = flight is None
                if flight is None:
                    flight = self._flights[key] = concurrent.futures.Future()
                    flight.set_running_or_notify_cancel()  # so that a waiter who gives up cancels only itself
            if leads:
                return await self._lead(key, make, text, flight)
            if (found := await asyncio.wrap_future(flight)) is not None:
                return found

    async def _lead(
        self,
        key: str,
        make: Callable[[], Awaitable[Audio]],
        text: str,
        flight: "concurrent.futures.Future[Audio | None]",
    ) -> Audio:
        """Make a sound for all callers in this process, or find that another process made it."""
        made: Audio | None = None  # stays so if this is cancelled, and then another one leads
        failure: Exception | None = None
        try:
            async with _one_process(Path(self._path(key)).with_suffix(".lock")):
                found = self.get(key)
                made = audio = await make() if found is None else found
                if found is None:
                    await call_in_thread(lambda: self.put(key, audio, text=text))
        except Exception as error:
            failure = error
            raise
        finally:
            with self._guard:
                del self._flights[key]
            if failure is not None:
                flight.set_exception(failure)
            else:
                flight.set_result(made)
        return audio

    # ------------------------------------------------------------------ the folder

    def size(self) -> int:
        """The number of sounds."""
        return sum(1 for _ in self._entries())

    def bytes(self) -> int:
        """How much room the sounds take."""
        return sum(status.st_size for _, status in self._entries())

    def clear(self) -> int:
        """Remove every sound, and nothing else that is in the folder.

        Returns:
            How many there were.
        """
        return self.prune(max_bytes=0)

    def prune(self, *, max_age: float | None = None, max_bytes: int | None = None) -> int:
        """Remove sounds that were not used for a while, then the longest unused until the rest fits.

        Args:
            max_age: seconds since the last use; `None` for any.
            max_bytes: room that all sounds may take together; `None` for any.

        Returns:
            How many were removed.

        Raises:
            InvalidOptionError: a limit that is negative or no number.
        """
        check_number("max_age", max_age, at_least=0, at_most=math.inf, of="seconds", or_none=True)
        check_number("max_bytes", max_bytes, at_least=0, at_most=math.inf, of="bytes", or_none=True)
        entries = sorted(self._entries(), key=lambda entry: (entry[1].st_mtime, entry[0].name))
        room = sum(status.st_size for _, status in entries)
        now = time.time()
        removed = 0
        for path, status in entries:
            too_old = max_age is not None and now - status.st_mtime > max_age
            if too_old or (max_bytes is not None and room > max_bytes):
                path.unlink(missing_ok=True)
                room -= status.st_size
                removed += 1
        return removed

    def _entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        """The files that are sounds, with what the system says of each."""
        with suppress(FileNotFoundError):
            try:
                paths = sorted(self.directory.iterdir())
            except NotADirectoryError:
                raise _no_folder(self.directory) from None
            for path in paths:
                if _ENTRY.fullmatch(path.name):
                    with suppress(FileNotFoundError):  # another process removed it
                        yield path, path.stat()

    def check_folder(self) -> None:
        """Check that sounds can be kept, before the first is said.

        Raises:
            InvalidOptionError: a file stands where the folder, or one above it, should be, or you may not write there.
        """
        check_folder(self.directory)

    def _path(self, key: str) -> str:
        """The file of a key, as text: making and opening a `Path` would take as long as reading the sound."""
        name = f"{key}.audio"
        if not _ENTRY.fullmatch(name):
            raise InvalidOptionError(f"{key!r} is no key of this cache: take one from AudioCache.key()")
        return os.path.join(self.directory, name)  # noqa: PTH118 - see above


def check_folder(folder: Path) -> None:
    """Check that sounds can be kept in a folder, whether it exists or not."""
    above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not above.is_dir():
        raise _no_folder(folder)
    if not os.access(above, os.W_OK | os.X_OK):
        raise InvalidOptionError(
            f"sounds cannot be kept in {str(folder)!r}: {str(above)!r} is not yours to write to"
        )


def _no_folder(folder: Path) -> InvalidOptionError:
    return InvalidOptionError(
        f"sounds cannot be kept in {str(folder)!r}: a file is in the way; name another folder, or move the file"
    )


class CachedSynthesizer:
    """A synthesizer that says every text once, and then remembers.

    ```python
    voice = CachedSynthesizer(SomeSynthesizer(voice="Kore"))
    ```

    Args:
        inner: the synthesizer, sync or async.
        cache: where sounds are kept; `.calipers/audio` unless given.
        enabled: whether the cache is read and written; may be changed at any time.
        key_extra: plain data that tells this synthesizer from others, for one that cannot tell its configuration, or has
            changed in a way that its configuration does not show.

    Raises:
        InvalidOptionError: an `inner` that is not a synthesizer, or a `cache` that is not an `AudioCache`.
    """

    def __init__(
        self,
        inner: Synthesizer,
        *,
        cache: AudioCache | None = None,
        enabled: bool = True,
        key_extra: Any = None,
    ) -> None:
        check_part(inner, Synthesizer, "synthesizer", "synthesize(text)")
        if cache is not None and not isinstance(cache, AudioCache):
            raise InvalidOptionError(
                f"cache={cache!r} is not a cache: give an AudioCache, such as AudioCache('folder')"
            )
        self.inner = inner
        self.cache = AudioCache() if cache is None else cache
        self.enabled = enabled
        self.key_extra = key_extra
        self._warned = False

    def __repr__(self) -> str:
        return f"CachedSynthesizer({self.inner!r}, cache={self.cache!r}, enabled={self.enabled})"

    @property
    def cacheable(self) -> bool:
        """Whether the synthesizer can be told from others; if not, it is asked every time."""
        return self.key_extra is not None or identity(self.inner) is not None

    def cache_key(self) -> Any:
        """The configuration of the synthesizer inside, for caches around this one; `None` if it cannot tell."""
        if not self.cacheable:
            return None
        return [known_identity(self.inner, spoken_for=self.key_extra is not None), self.key_extra]

    async def synthesize(self, text: str) -> Audio:
        """The text as sound, from the cache where it is there."""
        if not self.enabled:
            return await said(self.inner, text)
        try:
            who = known_identity(self.inner, spoken_for=self.key_extra is not None)
        except NotPlainError as error:
            self._warn(str(error))
            return await said(self.inner, text)

        async def say() -> Audio:
            audio = await said(self.inner, text)
            if self.key_extra is None and identity(self.inner) != who:
                self._warn("its attributes change as it speaks")
            return audio

        return await self.cache.get_or_make(_key(text, who=who, extra=self.key_extra), say, text=text)

    def _warn(self, why: str) -> None:
        """Say once that nothing is found in the cache, and what to do about it."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"the sound of {type(self.inner).__name__} is not cached, so every text is said anew: {why}. Give it a method "
                "cache_key(), or say what tells it from others with key_extra=",
                RuntimeWarning,
                stacklevel=2,
            )


async def said(synthesizer: Synthesizer, text: str) -> Audio:
    """What a sync or async synthesizer says; a sync one speaks in a thread, so that nothing else waits."""
    speak = synthesizer.synthesize
    found: Any = speak(text) if inspect.iscoroutinefunction(speak) else await call_in_thread(speak, text)
    if inspect.isawaitable(found):
        found = await found
    if not isinstance(found, Audio):
        raise TaskContractError(f"{synthesizer!r} gave {found!r} for a text, and not an Audio")
    return found


# ---------------------------------------------------------------------- keys and entries


def _key(text: str, *, who: str | None, perturbation: str | None = None, extra: Any = None) -> str:
    if not isinstance(text, str):
        raise InvalidOptionError(f"what is said is a text, not {text!r}")
    try:
        more = None if extra is None else as_text(canonical(extra))
    except NotPlainError as error:
        raise InvalidOptionError(f"the extra part of a cache key must be plain data: {error}") from error
    parts = (str(_VERSION), who, perturbation, more, text)
    # Each part stands after its length, so that none can pass for the end of another.
    whole = "".join(["~" if part is None else f"{len(part)}:{part}" for part in parts])
    return hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()


def _entry(key: str, audio: Audio, text: str) -> list[bytes]:
    """The bytes of an entry: a line to check the rest by, what describes the sound, and the sound."""
    facts = {
        "key": key,
        "text": text.encode(errors="replace").decode(),
        "format": audio.format,
        "sample_rate": audio.sample_rate,
        "channels": audio.channels,
        "sample_width": audio.sample_width,
    }
    head = json.dumps(facts).encode() + b"\n"
    return [_check_line(head, audio.data), head, audio.data]


def _read_entry(key: str, file: int, size: int) -> Audio | None:
    """The sound of an entry of this size, or `None` if it is damaged or another's.

    A warm cache is read for every request of a run, so the sound is read into its place, not copied there, and by the
    number of the file: an object for it would take as long as the reading.
    """
    line = os.read(file, _CHECK_LINE)
    try:
        head = os.read(file, min(int(line[9:], 16), size))
        data = os.read(file, size)
        facts = msgspec.json.decode(head)
        if line != _check_line(head, data) or facts.pop("key") != key:
            return None
        facts.pop("text")
        return Audio(data, **facts)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _check_line(head: bytes, data: bytes) -> bytes:
    """A checksum of all that follows, and the length of the description. Against accidents, so a quick one will do."""
    return b"%08x %08x\n" % (zlib.crc32(data, zlib.crc32(head)), len(head))


# ---------------------------------------------------------------------- other processes


@asynccontextmanager
async def _one_process(path: Path) -> AsyncIterator[None]:
    """Keep other processes, and other caches of the same folder, from making the same sound meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    give_up = time.monotonic() + _PATIENCE
    pause = 0.005
    with path.open("ab") as file:
        while not _lock(file) and time.monotonic() < give_up:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.2)
        try:
            yield
        finally:
            _unlock(file, path)


def _lock(file: BinaryIO) -> bool:
    """Whether we have the lock. On Windows two processes may make the same sound: twice the work, no harm."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _unlock(file: BinaryIO, path: Path) -> None:
    """Let others in, who find the entry, or make it."""
    with suppress(OSError):  # Windows removes no file that another has open
        path.unlink(missing_ok=True)
    if sys.platform == "win32":
        return
    import fcntl

    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_UN)
