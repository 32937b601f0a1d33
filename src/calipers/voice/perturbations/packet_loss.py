"""Packets that do not arrive."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.errors import InvalidOptionError
from calipers.voice.audio import Audio
from calipers.voice.perturbations.perturbation import Perturbation, check_number, check_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from calipers.voice.samples import Samples

_FADE = 0.5
"""What remains of the amplitude each time a packet is repeated."""


@dataclass(frozen=True)
class PacketLoss(Perturbation):
    """A network that loses packets: what was in them is silence, or a fading repetition of the last one that arrived.

    With `burst`, losses come in runs by Gilbert's model (1960): a line that is good or bad, and changes from one to the
    other by chance. Without, each packet is lost or not for itself.
    """

    kind = "packet_loss"

    rate: float
    """The share of packets that is lost in the long run, from 0 to 1."""
    burst: float | None = None
    """How many packets in a row are lost on average, 1 or more; `None` for independent losses."""
    packet: float = 0.02
    """The length of a packet in seconds."""
    conceal: bool = False
    """Whether the receiver repeats the last packet, at half the amplitude each time, instead of silence."""
    seed: int = 0
    """Which packets."""

    def __post_init__(self) -> None:
        check_number("rate", self.rate, least=0, most=1)
        check_number("packet", self.packet, above=0)
        check_whole("seed", self.seed)
        if self.burst is not None:
            check_number("burst", self.burst, least=1)
            if self.rate > self.burst / (self.burst + 1):
                raise InvalidOptionError(
                    f"rate={self.rate!r} cannot come in bursts of {self.burst!r} on average, as at least one packet"
                    " arrives between two of them: make the bursts longer"
                )
        if not isinstance(self.conceal, bool):
            raise InvalidOptionError(f"conceal={self.conceal!r} must be True or False")

    def change(self, sound: Audio) -> "Samples":
        """Lose packets."""
        import numpy as np

        samples = sound.samples()
        size = max(1, round(self.packet * sound.sample_rate))
        starts = range(0, len(samples), size)
        heard = np.zeros_like(samples[:size])
        for start, lost in zip(starts, self.losses(len(starts), self.rng(sound)), strict=True):
            packet = samples[start : start + size]
            if not lost:
                heard = packet.copy()
            else:
                heard = heard * (_FADE if self.conceal else 0.0)
                packet[:] = heard[: len(packet)]
        return samples

    def losses(self, count: int, rng: "np.random.RandomState") -> "NDArray[np.bool_]":
        """Which of so many packets are lost."""
        import numpy as np

        chances = rng.random_sample(count)
        if self.burst is None or self.rate == 0:
            return np.asarray(chances < self.rate)
        found = np.empty(count, dtype=np.bool_)
        # The line goes bad so often that it is bad the asked share of the time, and stays so for a burst.
        goes_bad, stays_bad = self.rate / (1 - self.rate) / self.burst, 1 - 1 / self.burst
        bad = self.rate
        for index, chance in enumerate(chances):
            found[index] = chance < bad
            bad = stays_bad if found[index] else goes_bad
        return found
