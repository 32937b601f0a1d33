"""How loud, and how much too loud."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.voice.audio import Audio

from .perturbation import Perturbation, check_decibels

if TYPE_CHECKING:
    from calipers.voice.samples import Samples


@dataclass(frozen=True)
class Gain(Perturbation):
    """Louder or quieter; what exceeds full scale clips."""

    kind = "gain"

    decibels: float
    """How much louder, in dB: 6 is about twice the amplitude."""

    def __post_init__(self) -> None:
        check_decibels("decibels", self.decibels)

    def change(self, sound: Audio) -> "Samples":
        """Make it louder."""
        return sound.samples() * 10 ** (self.decibels / 20)


@dataclass(frozen=True)
class Clip(Perturbation):
    """The peaks cut off, as by a microphone that is too near: the loudest `depth` decibels are missing."""

    kind = "clip"

    depth: float
    """How far below the peak the limit is, in dB. At 6 one sees it, at 20 everybody hears it."""

    def __post_init__(self) -> None:
        check_decibels("depth", self.depth, least=0)

    def change(self, sound: Audio) -> "Samples":
        """Cut the peaks."""
        samples = sound.samples()
        limit = float(abs(samples).max()) * 10 ** (-self.depth / 20)
        return samples.clip(-limit, limit)
