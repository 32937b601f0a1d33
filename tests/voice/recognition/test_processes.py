"""The processes that listen: several at once, none left over, and none that takes another's answer."""

import asyncio
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from calipers.errors import CalipersError, InvalidOptionError
from calipers.process.user_code import call_in_thread
from calipers.voice.recognition.decoder import SAMPLE_RATE, Decoder, Vocabulary
from calipers.voice.recognition.processes import Listeners, decode
from calipers.voice.synthesizers.espeak import EspeakSynthesizer

GRAMMAR = """#JSGF V1.0;
grammar home;
public <request> = call (anna | david) | cancel the timer;
"""
COMMANDS = Vocabulary(GRAMMAR)
TEXTS = ["call anna", "call david", "cancel the timer"]


def frames(text):
    return EspeakSynthesizer().synthesize_sync(text).convert(SAMPLE_RATE).pcm


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
from calipers.voice.recognition import processes
from calipers.voice.recognition.decoder import Vocabulary
processes.decode(Vocabulary({GRAMMAR!r}), bytes(32000))
print(processes._listeners._idle[0].pid, flush=True)
"""


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")  # one that has ended may wait for somebody to ask how
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
        [sys.executable, "-c", "from calipers.voice.recognition.processes import serve; serve()"],
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
