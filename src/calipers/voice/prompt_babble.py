"""The other prompts of a test in the background: babble whose voices are said by the test's own synthesizer.

A file that says `babble: 5` names no voices, and who says the prompts is known only when it is run. Until then it is a
`PromptBabble`; `said_by` makes it one that can be heard. All prompts are said once, when the first sound is to be perturbed.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from calipers.errors import InvalidOptionError
from calipers.process.loop import run_sync

from .audio import Audio
from .cache import said
from .perturbations import Babble, Chain, Perturbation
from .protocols import Synthesizer


class PromptVoices:
    """Prompts as sounds, said when they are first needed."""

    def __init__(self, prompts: Sequence[str], synthesizer: Synthesizer) -> None:
        self.prompts = prompts
        self.synthesizer = synthesizer
        self._sounds: list[Audio] | None = None
        self._guard = threading.Lock()

    def sounds(self) -> list[Audio]:
        """The sounds; whoever asks meanwhile waits, in threads of which none is that of an event loop."""
        with self._guard:
            if self._sounds is None:
                self._sounds = run_sync(self._say)
            return self._sounds

    async def _say(self) -> list[Audio]:
        return [await said(self.synthesizer, prompt) for prompt in self.prompts]


@dataclass(frozen=True)
class PromptBabble(Perturbation):
    """Other prompts in the background, so loud together that the sound is `snr` decibels above them."""

    kind = "babble"

    snr: float
    """Power of the sound over that of all voices together, in dB."""
    count: int = 4
    """How many speak at a time."""
    seed: int = 0
    """Who speaks, and from where."""
    voices: PromptVoices | None = field(default=None, compare=False, repr=False)
    """Who says what; `None` until that is known."""

    def __post_init__(self) -> None:
        Babble(self.snr, ["any"], self.count, self.seed)  # it knows what can be

    def apply(self, audio: Audio) -> Audio:
        """Add the voices."""
        if self.voices is None:
            raise InvalidOptionError("nobody is there to say the prompts: said_by() names who does")
        return Babble(self.snr, self.voices.sounds(), self.count, self.seed).apply(audio)


def said_by(perturbation: Perturbation, voices: PromptVoices) -> Perturbation:
    """The same perturbation, with these voices wherever it babbles with prompts."""
    parts = [
        PromptBabble(part.snr, part.count, part.seed, voices) if isinstance(part, PromptBabble) else part
        for part in perturbation.parts
    ]
    return Chain(*parts)
