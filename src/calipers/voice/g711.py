"""G.711, the codec of telephones: 256 levels, fine where speech is quiet and coarse where it is loud.

A byte stands for a level of 16 bits; `ULAW` and `ALAW` hold the level of each byte. Levels are those of ITU-T
Recommendation G.711, scaled to 16 bits as everybody does (µ-law by 4, A-law by 8).
"""

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from calipers.data.argument_checks import check_choice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Law: TypeAlias = Literal["ulaw", "alaw"]
"""The two laws of G.711: µ-law in North America and Japan, A-law elsewhere."""

_BIAS = 132
"""What µ-law adds to a level before it looks for the segment, so that the first segment starts at a power of two."""


def _ulaw(byte: int) -> int:
    """The level of a µ-law byte, whose bits are all inverted."""
    bits = ~byte & 0xFF
    level = (((bits & 0x0F) << 3) + _BIAS << (bits >> 4 & 0x07)) - _BIAS
    return -level if bits & 0x80 else level


def _alaw(byte: int) -> int:
    """The level of an A-law byte, whose even bits are inverted."""
    bits = byte ^ 0x55
    segment, step = bits >> 4 & 0x07, (bits & 0x0F) << 4
    level = step + 8 if segment == 0 else step + 0x108 << segment - 1
    return level if bits & 0x80 else -level


ULAW = tuple(_ulaw(byte) for byte in range(256))
"""The level of each µ-law byte."""
ALAW = tuple(_alaw(byte) for byte in range(256))
"""The level of each A-law byte."""


def decode(codes: "NDArray[np.uint8]", law: Law) -> "NDArray[np.int16]":
    """The levels of bytes."""
    import numpy as np

    return np.array(_table(law), dtype=np.int16)[codes]


def encode(levels: "NDArray[np.int16]", law: Law) -> "NDArray[np.uint8]":
    """The bytes of levels; decoding and encoding a byte gives the byte again, but for the second zero of µ-law."""
    import numpy as np

    wide = levels.astype(np.int32)
    if _table(law) is ULAW:
        magnitude = np.minimum(np.abs(wide), 32635) + _BIAS
        segment = np.log2(magnitude >> 7).astype(np.int32)
        bits = np.where(wide < 0, 0x80, 0) | segment << 4 | magnitude >> segment + 3 & 0x0F
        return np.asarray(~bits & 0xFF, dtype=np.uint8)
    magnitude = np.where(wide < 0, ~wide, wide)
    segment = np.log2(np.maximum(magnitude >> 7, 1)).astype(np.int32)
    bits = np.where(wide < 0, 0, 0x80) | segment << 4 | magnitude >> np.maximum(segment, 1) + 3 & 0x0F
    return np.asarray(bits ^ 0x55, dtype=np.uint8)


def _table(law: Law) -> tuple[int, ...]:
    check_choice("law", law, get_args(Law))
    return ULAW if law == "ulaw" else ALAW
