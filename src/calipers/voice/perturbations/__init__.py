"""What can happen to a sound on its way to the agent: noise, rooms, lines, networks, and people who hurry.

| module | what is in it |
|---|---|
| `perturbation` | `Perturbation`, the base, and `Chain`, several in a row |
| `background` | `Noise`, `Babble`: sounds that are added |
| `transmission` | `Reverberation`, `Telephone` with its parts `Band` and `Codec`, `PacketLoss` |
| `delivery` | `Speed`, `Tempo`, `Pitch`, `Gain`, `Clip`, `Silence`: how a sentence is spoken |
| `spec` | `from_spec`: perturbations from plain data |
"""

from .background import Babble, Noise, NoiseColor
from .delivery import Clip, Gain, Pitch, Silence, Speed, Tempo
from .perturbation import Chain, Perturbation
from .spec import KINDS, from_spec
from .transmission import Band, Codec, PacketLoss, Reverberation, Telephone

__all__ = [
    "KINDS",
    "Babble",
    "Band",
    "Chain",
    "Clip",
    "Codec",
    "Gain",
    "Noise",
    "NoiseColor",
    "PacketLoss",
    "Perturbation",
    "Pitch",
    "Reverberation",
    "Silence",
    "Speed",
    "Telephone",
    "Tempo",
    "from_spec",
]
