"""Silence around a sound."""

from dataclasses import dataclass

from calipers.voice.audio import Audio

from .perturbation import Perturbation, as_sound, check_number


@dataclass(frozen=True)
class Silence(Perturbation):
    """Silence before and after a sound, which itself stays as it is."""

    kind = "silence"

    before: float = 0.0
    """Seconds before the sound."""
    after: float = 0.0
    """Seconds after it."""

    def __post_init__(self) -> None:
        check_number("before", self.before, least=0, most=3600)
        check_number("after", self.after, least=0, most=3600)

    def apply(self, audio: Audio) -> Audio:
        """Put silence around the sound; around none, it is silence alone."""
        sound = as_sound(audio)
        before, after = (
            Audio.silence(
                seconds,
                sample_rate=sound.sample_rate,
                channels=sound.channels,
                sample_width=sound.sample_width,
            )
            for seconds in (self.before, self.after)
        )
        return Audio.join([before, sound, after])
