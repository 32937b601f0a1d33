"""A synthesizer whose voice is heard through a perturbation, so that a cache can hold what is heard.

`CachedSynthesizer(PerturbedSynthesizer(voice, noise))` keeps the noisy sound, the other way round the clean one.
"""

from typing import Any

from calipers.errors import InvalidOptionError
from calipers.process.user_code import call_in_thread

from .audio import Audio
from .cache import said
from .checks import check_part
from .identity import identity
from .perturbations import Perturbation
from .protocols import Synthesizer


class PerturbedSynthesizer:
    """Says what another synthesizer says, as it is heard through a perturbation.

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
        """The configuration of the synthesizer inside, and the perturbation; `None` if one of them cannot tell."""
        inner = identity(self.inner)
        try:
            return None if inner is None else [inner, self.perturbation.key()]
        except InvalidOptionError:  # an option that is not plain data
            return None

    async def synthesize(self, text: str) -> Audio:
        """The text as it is heard; the work is done in a thread, so that nobody else waits."""
        audio: Audio = await call_in_thread(self.perturbation.apply, await said(self.inner, text))
        return audio
