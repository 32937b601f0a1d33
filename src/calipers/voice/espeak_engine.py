"""The engine espeak-ng, called by ctypes: text in, frames out, the same frames for the same text.

espeak-ng is a shared library, which the package `espeakng-loader` carries with its data. It is under the GNU General
Public License, version 3: if you ship this extra, you ship that.

The library keeps state in global variables that a restart does not reset, so the same words would sound a little different each
time. Therefore

- one utterance is spoken at a time in a process, behind one lock;
- each utterance gets the library freshly loaded, with a fixed seed, and it is unloaded afterwards, which takes a few
  milliseconds. So the same text, voice and engine give the same bytes in every process;
- where other code of the process has loaded the same library, a copy of the file is loaded instead.

ctypes lets other threads run while the engine speaks.
"""

import ctypes
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path

from calipers.errors import CalipersError, MissingExtraError

_SYNCHRONOUS = 2  # frames go to the callback, and to no audio device
_DO_NOT_EXIT = 0x8000  # without it, the library ends the process when it finds no data
_UTF8 = 1
_SEED = 1
_LONGEST_DATA_PATH = 140  # the library cuts longer ones off, at about 160 bytes
PARAMETERS = {"speed": 1, "pitch": 3, "pitch_range": 4, "word_gap": 7}
"""What can be set, and its number in the library."""

_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child must not inherit the lock from a thread that it does not have
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def speak(text: str, *, voice: str, parameters: dict[str, int]) -> tuple[bytes, int]:
    """Frames of 16 bits, one channel, and their rate."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        return _speak(text, voice, parameters, stop)
    # Ctrl-C comes to the main thread, and would be lost if it came while the library calls back.
    spoken: Future[tuple[bytes, int]] = Future()

    def work() -> None:
        try:
            spoken.set_result(_speak(text, voice, parameters, stop))
        except Exception as error:
            spoken.set_exception(error)

    threading.Thread(target=work, name="calipers-espeak", daemon=True).start()
    try:
        return spoken.result()
    except BaseException:
        stop.set()
        raise


def _speak(text: str, voice: str, parameters: dict[str, int], stop: threading.Event) -> tuple[bytes, int]:
    frames = bytearray()

    def collect(samples: int | None, count: int, _events: int | None) -> int:
        if samples is not None and count > 0:
            frames.extend(ctypes.string_at(samples, count * 2))
        return int(stop.is_set())

    callback = _Callback(collect)
    spoken = text.encode("utf-8", errors="replace") + b"\0"
    with _fresh_library() as (library, rate):
        library.espeak_SetSynthCallback(callback)
        library.espeak_ng_SetRandSeed(ctypes.c_long(_SEED))
        if library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise CalipersError(f"espeak-ng cannot load the voice {voice!r}")
        for name, value in parameters.items():
            library.espeak_SetParameter(PARAMETERS[name], value, 0)
        status = library.espeak_Synth(spoken, ctypes.c_size_t(len(spoken)), 0, 1, 0, _UTF8, None, None)
        if status != 0:
            raise CalipersError(f"espeak-ng broke off with status {status} at {text[:80]!r}")
    return bytes(frames), rate


@cache
def engine_version() -> str:
    """The version of the engine, and of the package that carries it."""
    with _fresh_library() as (library, _):
        library.espeak_Info.restype = ctypes.c_char_p
        return f"{library.espeak_Info(None).decode()} (espeakng-loader {version('espeakng-loader')})"


@cache
def voice_names() -> tuple[str, ...]:
    """The names of the voices, one per language and accent: those whose dictionary is there too."""
    data = Path(_paths()[1])
    files = (path for path in (data / "lang").rglob("*") if path.is_file())
    return tuple(sorted(path.name.lower() for path in files if (data / f"{_dictionary(path)}_dict").exists()))


@cache
def variant_names() -> tuple[str, ...]:
    """The names of the variants, which follow a voice and a plus sign."""
    return tuple(sorted(path.name for path in (Path(_paths()[1]) / "voices" / "!v").iterdir()))


def _dictionary(voice: Path) -> str:
    """The dictionary that a voice file names, or that of its language."""
    lines = [line.split() for line in voice.read_text(encoding="utf-8", errors="replace").splitlines()]
    found = {line[0]: line[1] for line in reversed(lines) if len(line) > 1}
    return found.get("dictionary", found.get("language", voice.name).partition("-")[0])


def _paths() -> tuple[str, str]:
    """Where the library and its data are."""
    try:
        import espeakng_loader  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise MissingExtraError.of("EspeakSynthesizer", "voice") from error
    return espeakng_loader.get_library_path(), espeakng_loader.get_data_path()


@contextmanager
def _fresh_library() -> Iterator[tuple[ctypes.CDLL, int]]:
    """The library, freshly loaded and started, for this caller alone; and the sample rate."""
    path, data = _paths()
    with _lock, ExitStack() as cleanup:
        if _is_loaded(path) or len(os.fsencode(data)) > _LONGEST_DATA_PATH:
            folder = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="calipers-espeak-"))
            if _is_loaded(path):
                path = shutil.copy(path, folder)
            if len(os.fsencode(data)) > _LONGEST_DATA_PATH:
                link = Path(folder) / "espeak-ng-data"
                link.symlink_to(data, target_is_directory=True)
                data = str(link)
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            raise CalipersError(f"espeak-ng cannot be loaded from {path!r}: {error}") from error
        cleanup.callback(_unload, library)
        rate = library.espeak_Initialize(_SYNCHRONOUS, 0, os.fsencode(data), _DO_NOT_EXIT)
        if rate <= 0:
            raise CalipersError(f"espeak-ng does not start with the data in {data!r} (status {rate})")
        cleanup.callback(library.espeak_Terminate)
        yield library, rate


def _is_loaded(path: str) -> bool:
    """Whether code of this process holds the library already."""
    if not hasattr(os, "RTLD_NOLOAD"):
        return False
    try:
        _unload(ctypes.CDLL(path, mode=os.RTLD_NOLOAD))
    except OSError:
        return False
    return True


def _unload(library: ctypes.CDLL) -> None:
    """Give the library back, so that the next one to load it finds its variables as new."""
    import _ctypes

    handle = library._handle  # noqa: SLF001 - ctypes can unload a library by no other way
    if sys.platform == "win32":
        _ctypes.FreeLibrary(handle)
    else:
        _ctypes.dlclose(handle)
