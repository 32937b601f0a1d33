"""What can happen to a sound on its way to the agent: noise, rooms, lines, networks, and people who hurry.

| module | what is in it |
|---|---|
| `perturbation` | `Perturbation`, the base, and `Chain`, several in a row |
| `noise`, `babble` | `Noise`, `Babble`: sounds that are added |
| `room` | `Reverberation` |
| `telephone` | `Telephone`, and its parts `Band` and `Codec` |
| `pace` | `Speed`, `Tempo`, `Pitch` |
| `level` | `Gain`, `Clip` |
| `packet_loss` | `PacketLoss` |
| `silence` | `Silence` |
| `spec` | `from_spec`: perturbations from plain data |
"""

from calipers.voice.perturbations.packet_loss import PacketLoss

from .babble import Babble
from .level import Clip, Gain
from .noise import Noise, NoiseColor
from .pace import Pitch, Speed, Tempo
from .perturbation import Chain, Perturbation
from .room import Reverberation
from .silence import Silence
from .spec import KINDS, from_spec
from .telephone import Band, Codec, Telephone

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
