"""What can happen to a sound on its way to the agent: a value that is applied, added to others, and compared.

What counts:

- **The same value does the same to the same sound.** Chance is drawn from the seed and from the sound itself, so two requests
  under one seed get different noise, and the same request at two levels gets the same noise, only louder. For another draw, such
  as in a repeat, take another seed: `with_seed`.
- **Rate, channels and width stay**, and the number of frames, unless the kind is about time.
- **Adding a sound to a sound does not clip**: where the sum exceeds full scale, all of it is made quieter.
- **Empty sound stays empty**, and compressed sound is decoded first.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from calipers.data.argument_checks import check_number
from calipers.errors import InvalidAudioError, InvalidOptionError
from calipers.process.user_code import call_in_thread
from calipers.voice.audio import Audio
from calipers.voice.cache import said
from calipers.voice.cache_key import NotPlainError, canonical, identity
from calipers.voice.protocols import Synthesizer, check_part
from calipers.voice.samples import require_numpy

if TYPE_CHECKING:
    import numpy as np

    from calipers.voice.samples import Samples


@dataclass(frozen=True)
class Perturbation:
    """Base of everything that can happen to a sound.

    A kind of your own is a frozen dataclass that says its `kind` and changes samples:

    ```python
    @dataclass(frozen=True)
    class Mute(Perturbation):
        kind = "mute"
        seconds: float

        def change(self, sound):
            samples = sound.samples()
            samples[: round(self.seconds * sound.sample_rate)] = 0
            return samples
    ```
    """

    kind: ClassVar[str] = ""
    """The name in files, and in keys."""
    version: ClassVar[int] = 1
    """Part of the key: another version may give another sound."""

    def apply(self, audio: Audio) -> Audio:
        """The sound as it is heard through this.

        Raises:
            InvalidAudioError: this is no sound, or none that can be read.
        """
        sound = as_sound(audio)
        if not sound.frames:
            return sound
        return sound.with_samples(self.change(sound))

    def __call__(self, audio: Audio) -> Audio:
        """The same as `apply`, so that a perturbation is a function of sound."""
        return self.apply(audio)

    def change(self, sound: Audio) -> "Samples":
        """The samples of a sound after this, as an array of frames by channels; the sound is never an empty one."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what happens: define change() or apply()"
        )

    def rng(self, sound: Audio | None = None) -> "np.random.RandomState":
        """The source of chance for a sound, or for all sounds alike."""
        import numpy as np

        about = f"{self.kind} {getattr(self, 'seed', 0)} {sound.digest if sound else ''}"
        words = np.frombuffer(hashlib.sha256(about.encode()).digest(), "<u4")
        # The old generator, because numpy promises that what it draws from a seed never changes.
        return np.random.RandomState(words)

    def with_seed(self, seed: int) -> Self:
        """The same with another draw; itself where chance has no part."""
        options: dict[str, Any] = {"seed": seed} if any(each.name == "seed" for each in fields(self)) else {}
        return replace(self, **options)

    def key(self) -> str:
        """What tells this from others, in every process: the kind, its version and all options.

        Raises:
            InvalidOptionError: an option that is not plain data.
        """
        options = {each.name: getattr(self, each.name) for each in fields(self)} | self._key_options()
        try:
            told = ",".join(f"{name}={_text(value)}" for name, value in sorted(options.items()))
        except NotPlainError as error:
            raise InvalidOptionError(f"{self!r} cannot be told from others: {error}") from error
        return f"{self.kind}/{self.version}({told})"

    def _key_options(self) -> dict[str, Any]:
        """Options that stand in the key in another form."""
        return {}

    @classmethod
    def levels(cls, values: Iterable[Any], **options: Any) -> "dict[Any, Self]":
        """One perturbation for each value of the first option: `Noise.levels([20, 10, 0], seed=7)`.

        Raises:
            InvalidOptionError: the values are not a list, or one of them is out of range.
        """
        if not isinstance(values, Iterable) or isinstance(values, str):
            raise InvalidOptionError(
                f"levels takes a list of values, as in {cls.__name__}.levels([...]), got {values!r:.200}"
            )
        make = cast("Callable[..., Self]", cls)
        return {value: make(value, **options) for value in values}

    @property
    def parts(self) -> "tuple[Perturbation, ...]":
        """What a chain of this alone consists of."""
        return (self,)

    def __add__(self, other: "Perturbation") -> "Chain":
        return Chain(*self.parts, *other.parts) if isinstance(other, Perturbation) else NotImplemented


class Chain(Perturbation):
    """One after the other, in the order of speech: what the speaker does, the room, the noise, the line.

    `Reverberation(0.5) + Noise(10) + Telephone()` is one. Chains in chains are flattened, and an empty one does nothing.
    """

    def __init__(self, *parts: Perturbation) -> None:
        for part in parts:
            if not isinstance(part, Perturbation):
                raise InvalidOptionError(f"{part!r} is not a perturbation: from_spec() reads plain data")
        object.__setattr__(self, "_parts", tuple(each for part in parts for each in part.parts))

    @property
    def parts(self) -> tuple[Perturbation, ...]:
        """The perturbations, in order."""
        found: tuple[Perturbation, ...] = vars(self)["_parts"]
        return found

    def apply(self, audio: Audio) -> Audio:
        """The sound as it is heard through all of them."""
        sound = as_sound(audio)
        for part in self.parts:
            sound = part.apply(sound)
        return sound

    def with_seed(self, seed: int) -> "Chain":
        """The same with another draw in every part."""
        return Chain(*(part.with_seed(seed) for part in self.parts))

    def key(self) -> str:
        """The keys of the parts."""
        return "+".join(part.key() for part in self.parts)

    def __eq__(self, other: object) -> bool:
        return self.parts == other.parts if isinstance(other, Chain) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return (
            " + ".join(map(repr, self.parts))
            if len(self.parts) > 1
            else f"Chain({', '.join(map(repr, self.parts))})"
        )


class PerturbedSynthesizer:
    """Says what another synthesizer says, as it is heard through a perturbation, so that a cache can hold what is heard.

    `CachedSynthesizer(PerturbedSynthesizer(voice, noise))` keeps the noisy sound, the other way round the clean one.

    Args:
        inner: the synthesizer, sync or async.
        perturbation: what happens to its sound.

    Raises:
        InvalidOptionError: one of them is something else.
    """

    def __init__(self, inner: Synthesizer, perturbation: Perturbation) -> None:
        check_part(inner, Synthesizer, "synthesizer", "synthesize(text)")
        check_part(perturbation, Perturbation, "perturbation", "apply(audio)")
        self.inner = inner
        self.perturbation = perturbation

    def __repr__(self) -> str:
        return f"PerturbedSynthesizer({self.inner!r}, {self.perturbation!r})"

    def cache_key(self) -> Any:
        """The configuration of the synthesizer inside, and the perturbation; `None` if one of them is not known."""
        inner = identity(self.inner)
        try:
            return None if inner is None else [inner, self.perturbation.key()]
        except InvalidOptionError:  # an option that is not plain data
            return None

    async def synthesize(self, text: str) -> Audio:
        """The text as it is heard; the work is done in a thread, so that nothing else waits."""
        audio: Audio = await call_in_thread(self.perturbation.apply, await said(self.inner, text))
        return audio


def as_sound(audio: Any) -> Audio:
    """A sound that can be calculated with."""
    if not isinstance(audio, Audio):
        raise InvalidAudioError(
            f"a perturbation changes an Audio, got {audio!r:.200}: Audio.load reads a file"
        )
    require_numpy()
    return audio.decode()


MOST_DECIBELS = 200
"""Beyond this, nothing is left of one of two sounds, even in 32 bits."""


def check_decibels(name: str, value: Any, *, least: float = -MOST_DECIBELS) -> None:
    """Check that it is a number of decibels that can be heard."""
    check_number(name, value, at_least=least, at_most=MOST_DECIBELS)


def power(samples: "Samples") -> float:
    """The mean square over all channels."""
    return float((samples**2).mean()) if samples.size else 0.0


def at_ratio(signal: "Samples", noise: "Samples", decibels: float) -> "Samples":
    """A signal with noise so loud that the signal is `decibels` above it; silence stays silent."""
    have = power(noise)
    if not have:
        return signal
    return within_range(signal + noise * math.sqrt(power(signal) / have / 10 ** (decibels / 10)))


def within_range(samples: "Samples") -> "Samples":
    """The same, made quieter where it exceeds full scale."""
    loudest = float(abs(samples).max())
    return samples / loudest if loudest > 1 else samples


def _text(value: Any) -> str:
    """A value of an option; 10 and 10.0 are the same one."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return json.dumps(canonical(whole), sort_keys=True)
