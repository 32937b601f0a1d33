"""The engine: the same bytes for the same words, in every process, also while others speak."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import espeakng_loader
import pytest

from calipers.errors import CalipersError
from calipers.voice import espeak_engine

SETTINGS = {"speed": 150, "pitch": 50, "pitch_range": 50, "word_gap": 0}


def speak(text, voice="en-us+f2"):
    return espeak_engine.speak(text, voice=voice, parameters=SETTINGS)[0]


@pytest.mark.parametrize("voice", ["en-us", "en-us+f2", "en-us+whisper", "en-us+klatt", "de"])
def test_the_same_words_are_the_same_bytes_whatever_was_said_before(voice):
    first = speak("turn on the lights", voice)
    speak("something else entirely, and longer", "en-us+m3")
    speak("oui", "fr")
    assert speak("turn on the lights", voice) == first


def test_threads_that_speak_at_once_get_what_they_would_get_alone():
    texts = ["one", "two words", "three more words", "and then four words"]
    alone = [speak(text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(speak, texts * 6))
    assert together == alone * 6


def test_another_process_says_the_same():
    program = (
        "import sys; from calipers.voice.espeak_engine import speak\n"
        f"sys.stdout.buffer.write(speak('call anna', voice='en-us+f2', parameters={SETTINGS!r})[0])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == speak("call anna")
    assert done.stderr == b""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_while_another_thread_speaks_can_speak():
    said = speak("call anna")
    with ThreadPoolExecutor(1) as thread:
        busy = thread.submit(speak, "one two three four five " * 60)
        with multiprocessing.get_context("fork").Pool(1) as children:
            assert children.apply_async(speak, ("call anna",)).get(timeout=60) == said
        busy.result()


class Interrupted(BaseException):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that interrupts")
def test_an_interruption_is_not_lost_in_the_library(capfd):
    def interrupt(number, frame):
        raise Interrupted

    said = speak("call anna")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Interrupted):
            speak("one two three four five. " * 20000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert speak("call anna") == said
    assert capfd.readouterr() == ("", "")


def test_code_that_has_loaded_the_same_library_keeps_its_settings():
    alone = speak("turn on the lights")
    theirs = ctypes.CDLL(espeakng_loader.get_library_path())
    try:
        theirs.espeak_Initialize(2, 0, os.fsencode(espeakng_loader.get_data_path()), 0x8000)
        theirs.espeak_SetParameter(1, 333, 0)
        assert speak("turn on the lights") == alone
        assert theirs.espeak_GetParameter(1, 1) == 333
    finally:
        theirs.espeak_Terminate()
        espeak_engine._unload(theirs)
    assert not espeak_engine._is_loaded(espeakng_loader.get_library_path())


def test_data_in_a_folder_with_a_long_name_is_found(tmp_path):
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    (deep / "espeak-ng-data").symlink_to(espeakng_loader.get_data_path(), target_is_directory=True)
    program = (
        "import espeakng_loader, sys\n"
        f"espeakng_loader.get_data_path = lambda: {str(deep / 'espeak-ng-data')!r}\n"
        "from calipers.voice.espeak_engine import speak\n"
        f"sys.stdout.buffer.write(speak('call anna', voice='en-us+f2', parameters={SETTINGS!r})[0])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (speak("call anna"), b"")


def test_a_voice_that_cannot_be_loaded_is_an_error():
    with pytest.raises(CalipersError, match="cannot load the voice 'tlhingan'"):
        speak("hello", "tlhingan")


def test_the_names_of_voices_are_those_whose_dictionaries_are_there():
    voices = espeak_engine.voice_names()
    assert {"en-us", "en-gb-x-rp", "de", "cmn"} <= set(voices)
    assert list(voices) == sorted(set(voices))
    data = Path(espeakng_loader.get_data_path())
    without = {path.name.lower() for path in (data / "lang").rglob("*") if path.is_file()} - set(voices)
    assert not [name for name in without if (data / f"{name}_dict").exists()]


def test_the_version_names_the_engine_and_what_carries_it():
    assert "espeakng-loader" in espeak_engine.engine_version()
    assert espeak_engine.engine_version()[0].isdigit()
