"""Decoders of pocketsphinx, and the processes that they run in."""

import asyncio
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from calipers.errors import CalipersError, InvalidOptionError
from calipers.process.user_code import call_in_thread
from calipers.voice.decoder import SAMPLE_RATE, Decoder, Listeners, Utterance, Vocabulary, decode
from calipers.voice.synthesizers import EspeakSynthesizer

GRAMMAR = """#JSGF V1.0;
grammar home;
public <request> = turn (on | off) the <room> lights {a tag} | call (anna | david) | /2/ cancel the timer;
<room> = kitchen | bedroom;
"""
TEXTS = ["call anna", "turn on the kitchen lights", "cancel the timer"]


@cache
def frames(text, voice="en-us+f2"):
    return EspeakSynthesizer(voice).synthesize_sync(text).convert(SAMPLE_RATE).pcm


def noise(seconds):
    draw = random.Random(0)
    return b"".join(
        round(draw.gauss(0, 4000)).to_bytes(2, "little", signed=True) for _ in range(seconds * SAMPLE_RATE)
    )


@pytest.mark.parametrize("options", [{"phones_only": True}, {"grammar": GRAMMAR}], ids=["phones", "grammar"])
def test_what_is_heard_does_not_depend_on_what_was_heard_before(options):
    alone = {text: Decoder(Vocabulary(**options)).decode(frames(text)) for text in TEXTS[::2]}
    assert all(heard.text for heard in alone.values())
    used = Decoder(Vocabulary(**options))
    for text, before in zip(alone, (noise(1), frames("what a lovely day", "en-us+m3")), strict=True):
        used.decode(before)
        assert used.decode(frames(text)) == alone[text]


def test_a_grammar_finds_its_sentences_and_their_pronunciation():
    decoder = Decoder(Vocabulary(GRAMMAR))
    assert [decoder.decode(frames(text)).text for text in TEXTS] == TEXTS
    assert decoder.decode(frames("call anna")).phones == ("K", "AO", "L", "AE", "N", "AH")


def test_noise_is_no_sentence():
    assert Decoder(Vocabulary(GRAMMAR)).decode(noise(1)) == Utterance("", ())


def test_a_word_that_the_dictionary_lacks_can_be_taught():
    grammar = "#JSGF V1.0;\ngrammar a;\npublic <a> = open the frobnicator | close the window;"
    with pytest.raises(InvalidOptionError, match=r"cannot pronounce 'frobnicator': .*pronunciations="):
        Decoder(Vocabulary(grammar))
    taught = Decoder(Vocabulary(grammar, pronunciations=(("frobnicator", "F R AA B N IH K EY T ER"),)))
    assert taught.decode(frames("open the frobnicator")).text == "open the frobnicator"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"grammar": "turn on the light"}, "begins with #JSGF, got 'turn on the light'"),
        ({"grammar": ""}, "begins with #JSGF"),
        ({"grammar": "#JSGF V1.0;\ngrammar a;\npublic <a> = call (anna;"}, "cannot be read"),
        ({"grammar": "#JSGF V1.0;\ngrammar a;\n<a> = call anna;"}, "cannot be read"),
        (
            {"grammar": GRAMMAR, "pronunciations": (("frobnicator", "not phones"),)},
            "'frobnicator' cannot be pronounced 'not phones'",
        ),
    ],
)
def test_a_grammar_that_cannot_be_used_is_refused(options, said):
    with pytest.raises(InvalidOptionError, match=said):
        Decoder(Vocabulary(**options))


def test_without_the_library_the_error_names_the_extra():
    program = (
        "import sys; sys.modules['pocketsphinx'] = None\n"
        "from calipers.voice.decoder import Decoder, Vocabulary\n"
        "try: Decoder(Vocabulary())\n"
        "except ImportError as error: print(error, end='')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'calipers[voice]'" in done.stdout


COMMANDS = Vocabulary(GRAMMAR)


@pytest.fixture
def listeners():
    made = Listeners()
    yield made
    made.close()


def test_a_process_hears_what_a_decoder_hears(listeners):
    decoder = Decoder(COMMANDS)
    assert [listeners.decode(COMMANDS, frames(text)) for text in TEXTS] == [
        decoder.decode(frames(text)) for text in TEXTS
    ]
    assert len(listeners._all) == 1, "the process is used again"


def test_many_threads_get_each_its_own_answer(listeners):
    said = [frames(text) for text in TEXTS]
    with ThreadPoolExecutor(12) as threads:
        heard = list(threads.map(lambda pcm: listeners.decode(COMMANDS, pcm).text, said * 6))
    assert heard == TEXTS * 6
    assert len(listeners._all) <= 4


def test_the_event_loop_goes_on_while_they_listen():
    async def turns_while_listening():
        listening = call_in_thread(decode, Vocabulary(phones_only=True), frames("call anna, " * 10))
        turns = 0
        while not listening.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    assert asyncio.run(turns_while_listening()) > 100


def test_a_mistake_is_told_and_the_process_goes_on(listeners):
    with pytest.raises(InvalidOptionError, match="begins with #JSGF"):
        listeners.decode(Vocabulary("nonsense"), frames("call anna"))
    assert listeners.decode(COMMANDS, frames("call anna")).text == "call anna"
    assert len(listeners._all) == 1


def test_a_process_that_dies_is_an_error_of_its_utterance_only(listeners):
    listeners.decode(COMMANDS, frames("call anna"))
    listeners._idle[0].kill()
    with pytest.raises(CalipersError, match=f"ended with status -{int(signal.SIGKILL)}"):
        listeners.decode(COMMANDS, frames("call anna"))
    assert listeners.decode(COMMANDS, frames("call anna")).text == "call anna"


def test_an_utterance_that_is_interrupted_leaves_no_answer_behind(listeners):
    listeners.decode(COMMANDS, frames("call anna"))
    child = listeners._idle[0]
    original = child.stdout

    class Interrupting:
        """Stands for Ctrl-C between the question and the answer."""

        def __getattr__(self, name):
            raise KeyboardInterrupt

        def close(self):
            original.close()

    child.stdout = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        listeners.decode(COMMANDS, frames("call david"))
    assert child.returncode is not None
    assert listeners.decode(COMMANDS, frames("cancel the timer")).text == "cancel the timer"


def test_closing_ends_the_processes_and_those_who_wait(listeners):
    listeners.decode(COMMANDS, frames("call anna"))
    child = listeners._idle[0]
    failed = []

    def listen():
        try:
            listeners.decode(Vocabulary(phones_only=True), frames("call anna, " * 40))
        except CalipersError as error:
            failed.append(error)

    thread = threading.Thread(target=listen)
    thread.start()
    while listeners._idle:
        pass
    listeners.close()
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert child.returncode is not None
    assert failed


PROGRAM = f"""
import os, sys
from calipers.voice import decoder
decoder.decode(decoder.Vocabulary({GRAMMAR!r}), bytes(32000))
print(decoder._listeners._idle[0].pid, flush=True)
"""


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")  # one that has ended may wait to be asked how
    return not (state.exists() and state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")


@pytest.mark.skipif(os.name != "posix", reason="looks for processes as POSIX does")
@pytest.mark.parametrize("end", ["", "os._exit(0)", "os.kill(os.getpid(), 9)"], ids=["exit", "abort", "kill"])
def test_no_process_is_left_over_however_a_program_ends(end):
    done = subprocess.run([sys.executable, "-c", PROGRAM + end], capture_output=True, text=True)
    pid = int(done.stdout)
    for _ in range(600):
        if not is_running(pid):
            break
        threading.Event().wait(0.1)
    assert not is_running(pid)
    assert done.stderr == ""


def test_a_program_that_ends_in_the_middle_of_a_request_leaves_no_traceback():
    done = subprocess.run(
        [sys.executable, "-c", "from calipers.voice.decoder import serve; serve()"],
        input=pickle.dumps((COMMANDS, bytes(32000)))[:-100],
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def _hear(text):
    return decode(COMMANDS, frames(text)).text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_program_has_processes_of_its_own():
    assert _hear("call anna") == "call anna"
    with ThreadPoolExecutor(1) as thread:
        busy = thread.submit(_hear, "call anna")
        with multiprocessing.get_context("fork").Pool(1) as children:
            assert children.apply_async(_hear, ("call david",)).get(timeout=60) == "call david"
        assert busy.result() == "call anna"
    assert _hear("cancel the timer") == "cancel the timer"
