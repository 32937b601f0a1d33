"""An agent whose hearing is known: it hears the text that a voice wrote into the samples, as far as noise leaves it."""

from dataclasses import dataclass

import numpy as np
import pytest

from calipers.voice import AgentResponse, Audio, ToolCall
from calipers.voice.perturbations import Perturbation


@dataclass(frozen=True)
class WrittenVoice:
    """Says a text by writing it into the samples, so that hearing it is reading it."""

    def synthesize(self, text):
        return Audio(text.encode("utf-16-le"), "pcm", sample_rate=16000)


@dataclass(frozen=True)
class Mumble(Perturbation):
    """Makes the last words of every request into noise, as many as the level says."""

    kind = "mumble"

    words: int

    def apply(self, audio):
        said = audio.pcm.decode("utf-16-le").split()
        kept = len(said) - self.words
        return WrittenVoice().synthesize(" ".join(said[:kept] + ["mm"] * (len(said) - kept)))


@dataclass(frozen=True)
class Hiss(Perturbation):
    """Adds a word that is drawn by chance."""

    kind = "hiss"

    seed: int = 0

    def apply(self, audio):
        drawn = np.random.RandomState(self.seed).randint(10**6)
        return WrittenVoice().synthesize(f"{audio.pcm.decode('utf-16-le')} {drawn}")


class KnownEar:
    """Does what it hears or reads: `set lamp 5` calls set(what='lamp', to='5'); anything else is nothing it knows."""

    name = "known ear"

    def __init__(self, *, tells=True):
        self.tells = tells
        self.heard = []

    async def run(self, audio):
        return await self.run_text(audio.pcm.decode("utf-16-le"))

    async def run_text(self, text):
        self.heard.append(text)
        if text == "crash":
            raise ValueError("fell over")
        verb, *rest = text.split()
        calls = [ToolCall(verb, {"what": rest[0], "to": rest[1]})] if len(rest) == 2 else []
        return AgentResponse(calls, transcript=text if self.tells else None)


@pytest.fixture
def voice():
    return WrittenVoice()


@pytest.fixture
def make_ear():
    return KnownEar


@pytest.fixture
def ear():
    return KnownEar()


@pytest.fixture
def mumble():
    return Mumble


@pytest.fixture
def hiss():
    return Hiss
