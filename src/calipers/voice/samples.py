"""Sound as numbers: frames of integers to an array in [-1, 1) and back, and to another sample rate.

An array is of shape (frames, channels), in float64, which holds integers of 32 bits without loss. numpy and soxr come
with the extra `voice` and load when a function is called.

G.711, the codec of telephones, has 256 levels, fine where speech is quiet and coarse where it is loud. `ULAW` and `ALAW` hold the
level of each byte, as in the ITU-T recommendation, scaled to 16 bits as usual (µ-law by 4, A-law by 8).
"""

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from calipers.data.argument_checks import check_choice
from calipers.errors import InvalidAudioError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Samples: TypeAlias = NDArray[np.float64]

Law: TypeAlias = Literal["ulaw", "alaw"]
"""The two laws of G.711: µ-law in North America and Japan, A-law elsewhere."""


def require_numpy() -> None:
    """Say what to install where numpy is missing."""
    try:
        import numpy as np  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise MissingExtraError.of("calculating with sound", "voice") from error


def from_frames(pcm: bytes, *, channels: int, sample_width: int) -> "Samples":
    """Little-endian integer frames as an array in [-1, 1)."""
    require_numpy()
    import numpy as np

    if sample_width == 1:
        integers = np.frombuffer(pcm, np.uint8).astype(np.float64) - 128
    elif sample_width == 3:
        # Three bytes become the upper three of four; the scale below is that of four.
        wide = np.zeros((len(pcm) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(pcm, np.uint8).reshape(-1, 3)
        integers = wide.reshape(-1).view("<i4").astype(np.float64) / 256
    else:
        integers = np.frombuffer(pcm, f"<i{sample_width}").astype(np.float64)
    scaled: Samples = integers.reshape(-1, channels) / (1 << (8 * sample_width - 1))
    return scaled


def to_frames(samples: "Samples", *, sample_width: int) -> bytes:
    """An array as little-endian integer frames: rounded to the nearest level, clipped to full scale."""
    import numpy as np

    scale = 1 << (8 * sample_width - 1)
    levels = np.clip(np.rint(samples * scale), -scale, scale - 1).astype("<i4")
    if sample_width == 1:
        return (levels + 128).astype(np.uint8).tobytes()
    if sample_width == 3:
        return levels.reshape(-1).view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    return levels.astype(f"<i{sample_width}").tobytes()


def as_samples(values: "ArrayLike") -> "Samples":
    """Numbers a user gave, as an array of frames by channels."""
    require_numpy()
    import numpy as np

    try:
        found: Samples = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidAudioError(f"samples must be numbers: {error}") from error
    if found.ndim == 1:
        found = found[:, np.newaxis]
    if found.ndim != 2 or not found.shape[1]:
        raise InvalidAudioError(
            f"samples of shape {found.shape} are neither (frames,) nor (frames, channels)"
        )
    if not np.isfinite(found).all():
        raise InvalidAudioError("samples contain NaN or infinity, which is no sound")
    return found


def mix(samples: "Samples", channels: int) -> "Samples":
    """The same with another number of channels: one becomes many by copying, many become one by their mean."""
    import numpy as np

    have = samples.shape[1]
    if have == channels:
        return samples
    if have == 1:
        return np.repeat(samples, channels, axis=1)
    if channels == 1:
        one: Samples = samples.mean(axis=1, keepdims=True)
        return one
    raise InvalidAudioError(f"{have} channels cannot become {channels}: convert to one channel first")


def resample(samples: "Samples", rate: float, new_rate: float) -> "Samples":
    """The same sound at another sample rate, by soxr at its best quality."""
    import numpy as np

    if rate == new_rate or not len(samples):
        return samples
    try:
        import soxr  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtraError.of("converting the sample rate of sound", "voice") from error
    return np.asarray(soxr.resample(samples, rate, new_rate, quality="VHQ"), dtype=np.float64)


# ---------------------------------------------------------------------- G.711, the codec of telephones

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


def decode_g711(codes: "NDArray[np.uint8]", law: Law) -> "NDArray[np.int16]":
    """The levels of bytes."""
    import numpy as np

    return np.array(_table(law), dtype=np.int16)[codes]


def encode_g711(levels: "NDArray[np.int16]", law: Law) -> "NDArray[np.uint8]":
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
