"""Said once, heard often: and never in another voice."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError, TaskContractError
from calipers.voice.audio import Audio
from calipers.voice.cache import AudioCache, CachedSynthesizer, said
from calipers.voice.protocols import Synthesizer

SOUND = Audio.silence(0.01)
KEY = "0" * 64


@dataclass
class Speaker:
    """Says each text as as many frames as it has letters, and counts."""

    voice: int = 1
    said: list = field(default_factory=list, compare=False)

    async def synthesize(self, text):
        self.said.append(text)
        await asyncio.sleep(0)
        return Audio(bytes([self.voice, 0]) * len(text))


@dataclass
class BlockingSpeaker(Speaker):
    def synthesize(self, text):
        self.said.append(text)
        return Audio(bytes([self.voice, 0]) * len(text))


class Mute:
    """Cannot tell its configuration."""

    def __init__(self):
        self.calls = 0
        self.client = object()

    def synthesize(self, text):
        self.calls += 1
        return SOUND


@pytest.fixture
def cache(tmp_path):
    return AudioCache(tmp_path / "sounds")


def say(synthesizer, *texts):
    async def all_of_them():
        return await asyncio.gather(*(synthesizer.synthesize(text) for text in texts))

    return asyncio.run(all_of_them())


# ---------------------------------------------------------------------- entries


@pytest.mark.parametrize(
    "audio",
    [
        Audio(b"\1\2" * 10),
        Audio(b"\1\2" * 12, "pcm", 8000, 2, 3),
        Audio.from_pcm(b"\n\n\n\n", sample_rate=44100, sample_width=1),
        Audio(b"OggS no sound at all", "ogg", 48000, 2, 2),
    ],
    ids=["bare frames", "stereo of three bytes", "newlines", "compressed"],
)
def test_an_entry_comes_back_as_it_was(cache, audio):
    assert cache.get(KEY) is None
    assert cache.put(KEY, audio, text="Grüße\n\ud800")
    assert cache.get(KEY) == audio
    assert cache.size() == 1
    assert cache.bytes() == sum(path.stat().st_size for path in cache.directory.iterdir())


@pytest.mark.parametrize("audio", [Audio(b""), Audio(b"\1"), Audio.silence(0), Audio(b"", "mp3")], ids=repr)
def test_no_sound_is_no_entry(cache, audio):
    assert not cache.put(KEY, audio)
    assert cache.size() == 0


def only_file(cache):
    (path,) = cache.directory.iterdir()
    return path


def test_an_entry_is_one_file_whose_name_comes_from_no_content(cache):
    say(CachedSynthesizer(Speaker(), cache=cache), "../../etc/passwd")
    assert only_file(cache).name == f"{cache.key('../../etc/passwd', synthesizer=Speaker())}.audio"


@pytest.mark.parametrize("key", ["", "../x", "0" * 63, "G" * 64, "0" * 64 + "\n"])
def test_only_keys_become_file_names(cache, key):
    with pytest.raises(InvalidOptionError, match="is no key of this cache"):
        cache.put(key, SOUND)


@given(st.data())
def test_an_entry_with_any_byte_changed_or_missing_is_dropped(tmp_path_factory, data):
    cache = AudioCache(tmp_path_factory.mktemp("sounds"))
    cache.put(KEY, SOUND, text="hello")
    path = only_file(cache)
    blob = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(blob) - 1))
    if data.draw(st.booleans()):
        blob[at] ^= data.draw(st.integers(1, 255))
    else:
        del blob[at:]
    path.write_bytes(blob)
    assert cache.get(KEY) is None
    assert cache.size() == 0


def test_an_entry_under_the_name_of_another_is_dropped(cache):
    cache.put(KEY, SOUND)
    only_file(cache).rename(cache.directory / f"{'1' * 64}.audio")
    assert cache.get("1" * 64) is None
    assert cache.size() == 0


def test_a_damaged_entry_is_made_again(cache):
    speaker = Speaker()
    voice = CachedSynthesizer(speaker, cache=cache)
    first = say(voice, "hello")
    only_file(cache).write_bytes(b"")
    assert say(voice, "hello") == first
    assert say(voice, "hello") == first
    assert speaker.said == ["hello", "hello"]


def test_an_entry_does_not_hold_the_configuration(cache):
    @dataclass
    class WithSecret(Speaker):
        token: str = "sesame"

    say(CachedSynthesizer(WithSecret(), cache=cache), "hello")
    blob = only_file(cache).read_bytes()
    assert json.loads(blob.split(b"\n")[1])["text"] == "hello"
    assert b"sesame" not in blob


# ---------------------------------------------------------------------- keys


def test_every_part_of_a_key_has_its_own_place(cache):
    keys = [
        cache.key("a"),
        cache.key("b"),
        cache.key("a", extra="a"),
        cache.key("a", extra={"text": "b"}),
        cache.key("a", perturbation="a"),
        cache.key("a", synthesizer=Speaker()),
        cache.key("a", synthesizer=Speaker(2)),
        cache.key("a", synthesizer=BlockingSpeaker()),
        cache.key("a", synthesizer=Speaker(), extra="a"),
        cache.key("a", synthesizer=Mute(), extra="a"),
    ]
    assert len(set(keys)) == len(keys)


def test_a_key_is_the_same_in_every_process():
    code = (
        "from calipers.voice.cache import AudioCache; print(AudioCache().key('grün', extra={'b': 1, 'a': 2}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == AudioCache().key("grün", extra={"a": 2, "b": 1})


@pytest.mark.parametrize(
    "extra", [object(), {"a": float("nan")}, {1: 2}, {"a"}], ids=["object", "nan", "int", "set"]
)
def test_an_extra_that_is_not_plain_is_an_error(cache, extra):
    with pytest.raises(InvalidOptionError, match="must be plain data"):
        cache.key("a", extra=extra)


def test_a_key_needs_a_text_and_a_synthesizer_that_tells(cache):
    with pytest.raises(InvalidOptionError, match="is a text, not None"):
        cache.key(None)
    with pytest.raises(InvalidOptionError, match=r"give it a method cache_key\(\)"):
        cache.key("a", synthesizer=Mute())


# ---------------------------------------------------------------------- the synthesizer


@pytest.mark.parametrize("kind", [Speaker, BlockingSpeaker])
def test_a_text_is_said_once(cache, kind):
    speaker = kind()
    voice = CachedSynthesizer(speaker, cache=cache)
    assert isinstance(voice, Synthesizer)
    assert say(voice, "hello") == say(voice, "hello") == [Audio(b"\1\0" * 5)]
    assert speaker.said == ["hello"]


def test_another_voice_is_never_served(cache):
    assert say(CachedSynthesizer(Speaker(1), cache=cache), "hello") == [Audio(b"\1\0" * 5)]
    assert say(CachedSynthesizer(Speaker(2), cache=cache), "hello") == [Audio(b"\2\0" * 5)]
    changed = Speaker(1)
    voice = CachedSynthesizer(changed, cache=cache)
    changed.voice = 3
    assert say(voice, "hello") == [Audio(b"\3\0" * 5)]


def test_a_synthesizer_that_cannot_tell_is_asked_every_time_and_a_warning_says_why(cache):
    mute = Mute()
    voice = CachedSynthesizer(mute, cache=cache)
    with pytest.warns(RuntimeWarning, match="Mute is not cached.*'client' is a object.*cache_key\\(\\)"):
        say(voice, "a")
    say(voice, "a")
    assert (mute.calls, voice.cacheable, voice.cache_key(), cache.size()) == (2, False, None, 0)


class Ordinary:
    def __init__(self, voice=1):
        self.voice = voice

    def synthesize(self, text):
        calls.append(text)
        return Audio(bytes([self.voice, 0]) * len(text))


class Counting(Ordinary):
    count = 0

    def synthesize(self, text):
        self.count += 1
        return super().synthesize(text)


calls: list[str] = []


def test_an_ordinary_class_is_cached(cache):
    calls.clear()
    for voice in (Ordinary(), Ordinary(), Ordinary(2)):
        say(CachedSynthesizer(voice, cache=cache), "a")
    assert (len(calls), cache.size()) == (2, 2)


def test_one_that_changes_as_it_speaks_is_not_and_a_warning_says_so(cache):
    voice = CachedSynthesizer(Counting(), cache=cache)
    with pytest.warns(RuntimeWarning, match="its attributes change as it speaks"):
        say(voice, "a")


def test_unless_the_user_tells_what_tells_it_from_others(cache):
    mute = Mute()
    voice = CachedSynthesizer(mute, cache=cache, key_extra="v1")
    say(voice, "a")
    say(voice, "a")
    assert (mute.calls, voice.cacheable) == (1, True)
    say(CachedSynthesizer(mute, cache=cache, key_extra="v2"), "a")
    assert mute.calls == 2


def test_a_cache_that_is_turned_off_is_neither_read_nor_written(cache):
    speaker = Speaker()
    voice = CachedSynthesizer(speaker, cache=cache, enabled=False)
    say(voice, "a")
    assert cache.size() == 0
    voice.enabled = True
    say(voice, "a")
    voice.enabled = False
    say(voice, "a")
    assert speaker.said == ["a", "a", "a"]


def test_empty_audio_is_passed_on_and_asked_for_again(cache):
    speaker = Speaker()
    voice = CachedSynthesizer(speaker, cache=cache)
    assert say(voice, "") == say(voice, "") == [Audio(b"")]
    assert speaker.said == ["", ""]


def test_caches_nest(cache, tmp_path):
    speaker = Speaker()
    outer = CachedSynthesizer(CachedSynthesizer(speaker, cache=cache), cache=AudioCache(tmp_path / "outer"))
    assert outer.cacheable
    say(outer, "a")
    cache.clear()
    say(outer, "a")
    assert speaker.said == ["a"]


def test_what_is_no_audio_is_an_error_that_shows_it():
    class Wrong:
        def synthesize(self, text):
            return "sound"

    with pytest.raises(TaskContractError, match="gave 'sound' for a text, and not an Audio"):
        asyncio.run(said(Wrong(), "a"))


def test_a_path_is_no_cache():
    with pytest.raises(InvalidOptionError, match="cache='sounds' is not a cache: give an AudioCache"):
        CachedSynthesizer(Speaker(), cache="sounds")


def test_the_default_folder_is_told_and_made_only_when_needed():
    assert AudioCache().directory.as_posix() == ".calipers/audio"
    assert repr(AudioCache("x")) == "AudioCache('x')"


# ---------------------------------------------------------------------- at the same time


@pytest.mark.parametrize("kind", [Speaker, BlockingSpeaker])
def test_many_tasks_that_want_one_sound_have_it_made_once(cache, kind):
    speaker = kind()
    found = say(CachedSynthesizer(speaker, cache=cache), *["hello"] * 50)
    assert found == [Audio(b"\1\0" * 5)] * 50
    assert speaker.said == ["hello"]


def test_different_sounds_are_made_at_the_same_time(cache):
    class Together:
        """Finishes only when all are being said."""

        def __init__(self):
            self.all_here = asyncio.Barrier(8)

        def cache_key(self):
            return "together"

        async def synthesize(self, text):
            await self.all_here.wait()
            return SOUND

    async def main():
        voice = CachedSynthesizer(Together(), cache=cache)
        async with asyncio.timeout(20):
            await asyncio.gather(*(voice.synthesize(str(n)) for n in range(8)))

    asyncio.run(main())
    assert cache.size() == 8


def test_threads_with_their_own_loops_and_caches_make_a_sound_once(cache):
    start = threading.Barrier(8)
    speaker = Speaker()

    def one(number):
        mine = cache if number % 2 else AudioCache(cache.directory)
        start.wait()
        return say(CachedSynthesizer(speaker, cache=mine), "hello")

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(8)))
    assert found == [[Audio(b"\1\0" * 5)]] * 8
    assert speaker.said == ["hello"]


@pytest.mark.skipif(sys.platform == "win32", reason="processes lock each other out by flock, which is POSIX")
def test_processes_make_a_sound_once(cache, tmp_path):
    code = """
import asyncio, os, pathlib, sys, time
from calipers.voice.audio import Audio
from calipers.voice.cache import AudioCache, CachedSynthesizer
here = pathlib.Path(sys.argv[1])

class Speaker:
    def cache_key(self): return 1
    def synthesize(self, text):
        (here / f"said-{os.getpid()}").touch()
        return Audio(b"ab")

(here / f"ready-{os.getpid()}").touch()
while len(list(here.glob("ready-*"))) < 3: time.sleep(0.005)
asyncio.run(CachedSynthesizer(Speaker(), cache=AudioCache(here / "sounds")).synthesize("x"))
"""
    children = [subprocess.Popen([sys.executable, "-c", code, tmp_path]) for _ in range(3)]
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0]
    assert len(list(tmp_path.glob("said-*"))) == 1
    assert not list((tmp_path / "sounds").glob("*.lock"))


class Failing:
    def __init__(self, fails=1):
        self.fails = fails
        self.calls = 0

    def cache_key(self):
        return "failing"

    async def synthesize(self, text):
        self.calls += 1
        await asyncio.sleep(0)
        if self.calls <= self.fails:
            raise ConnectionError("no service")
        return SOUND


def test_those_who_wait_for_a_sound_that_fails_get_its_error_and_the_next_one_tries_again(cache):
    speaker = Failing()
    voice = CachedSynthesizer(speaker, cache=cache)

    async def main():
        return await asyncio.gather(*(voice.synthesize("a") for _ in range(5)), return_exceptions=True)

    assert [str(found) for found in asyncio.run(main())] == ["no service"] * 5
    assert say(voice, "a") == [SOUND]
    assert speaker.calls == 2


class Slow:
    """Speaks when it may."""

    def __init__(self):
        self.started = asyncio.Event()
        self.may_speak = asyncio.Event()
        self.calls = 0

    def cache_key(self):
        return "slow"

    async def synthesize(self, text):
        self.calls += 1
        self.started.set()
        await self.may_speak.wait()
        return SOUND


def test_when_the_one_who_makes_a_sound_is_cancelled_another_makes_it(cache):
    async def main():
        slow = Slow()
        voice = CachedSynthesizer(slow, cache=cache)
        leader, *waiting = [asyncio.create_task(voice.synthesize("a")) for _ in range(4)]
        await slow.started.wait()
        leader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leader
        slow.may_speak.set()
        return await asyncio.gather(*waiting), slow.calls

    assert asyncio.run(main()) == ([SOUND] * 3, 2)


def test_one_who_gives_up_waiting_disturbs_no_other(cache):
    async def main():
        slow = Slow()
        voice = CachedSynthesizer(slow, cache=cache)
        leader, quitter, patient = [asyncio.create_task(voice.synthesize("a")) for _ in range(3)]
        await slow.started.wait()
        quitter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await quitter
        slow.may_speak.set()
        return await asyncio.gather(leader, patient), slow.calls

    assert asyncio.run(main()) == ([SOUND] * 2, 1)


# ---------------------------------------------------------------------- the folder


def key_of(number):
    return f"{number:064x}"


def filled(cache, ages):
    """One sound for each age in seconds since its last use."""
    for number, age in enumerate(ages):
        cache.put(key_of(number), SOUND)
        path = cache.directory / f"{key_of(number)}.audio"
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
    return (cache.directory / f"{key_of(0)}.audio").stat().st_size


def kept(cache):
    return [number for number in range(4) if (cache.directory / f"{key_of(number)}.audio").exists()]


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({}, [0, 1, 2, 3]),
        ({"max_age": 1000}, [0, 2]),
        ({"max_age": 0}, []),
        ({"entries": 2}, [0, 2]),
        ({"entries": 3}, [0, 1, 2]),
        ({"entries": 0}, []),
        ({"entries": 9}, [0, 1, 2, 3]),
        ({"entries": 1, "max_age": 3500}, [0]),
    ],
    ids=str,
)
def test_pruning_keeps_what_was_used_last(cache, limits, left):
    size = filled(cache, [10, 3000, 100, 4000])
    if "entries" in limits:
        limits = {**limits, "max_bytes": size * limits["entries"]}
        del limits["entries"]
    assert cache.prune(**limits) == 4 - len(left)
    assert kept(cache) == left


def test_a_hit_is_a_use(cache):
    filled(cache, [5000, 4000])
    cache.get(key_of(0))
    cache.prune(max_age=1000)
    assert kept(cache) == [0]


@pytest.mark.parametrize(
    ("limits", "unit"),
    [
        ({"max_age": -1}, "seconds"),
        ({"max_bytes": -1}, "bytes"),
        ({"max_age": float("nan")}, "seconds"),
        ({"max_age": "1d"}, "seconds"),
        ({"max_bytes": True}, "bytes"),
    ],
    ids=str,
)
def test_a_limit_that_cannot_be_is_an_error(cache, limits, unit):
    with pytest.raises(InvalidOptionError, match=f"must be a number of {unit} from 0, or None, got"):
        cache.prune(**limits)


@pytest.mark.parametrize("inner", [None, "espeak", CachedSynthesizer], ids=repr)
def test_only_a_synthesizer_can_be_cached(inner):
    with pytest.raises(
        InvalidOptionError, match=r"is not a valid synthesizer|is a class: give one of its objects"
    ):
        CachedSynthesizer(inner)


def test_clearing_removes_sounds_and_nothing_else(cache):
    assert cache.clear() == 0
    filled(cache, [1, 2])
    (cache.directory / "notes.txt").touch()
    (cache.directory / "song.audio").touch()
    assert cache.clear() == 2
    assert sorted(path.name for path in cache.directory.iterdir()) == ["notes.txt", "song.audio"]


@pytest.mark.parametrize("below", ["", "audio"], ids=["itself", "above it"])
def test_a_file_in_the_place_of_the_folder_is_told(tmp_path, below):
    (tmp_path / "taken").write_text("a file")
    cache = AudioCache(tmp_path / "taken" / below)
    key = cache.key("hello")
    for use in (
        cache.check_folder,
        cache.size,
        cache.clear,
        lambda: cache.get(key),
        lambda: cache.put(key, Audio.silence(0.1)),
        lambda: asyncio.run(cache.get_or_make(key, lambda: said(None, "hello"))),
    ):
        with pytest.raises(InvalidOptionError, match=r"sounds cannot be kept in .*: a file is in the way"):
            use()


def test_a_folder_that_is_not_there_yet_will_do(tmp_path):
    AudioCache(tmp_path / "a" / "b").check_folder()
