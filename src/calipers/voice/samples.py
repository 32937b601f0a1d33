"""Sound as numbers: frames of integers to an array in [-1, 1) and back, and to another sample rate.

An array is of shape (frames, channels), in float64, which holds integers of 32 bits without loss. numpy and soxr come
with the extra `voice` and load when a function is called.
"""

from typing import TYPE_CHECKING, TypeAlias

from calipers.errors import InvalidAudioError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Samples: TypeAlias = NDArray[np.float64]


def require_numpy() -> None:
    """Say what to install where numpy is missing.

    Raises:
        MissingExtraError: it is not installed.
    """
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
    """Numbers a user gave, as an array of frames by channels.

    Raises:
        InvalidAudioError: what is no number, or not of one or two dimensions.
    """
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
    """The same with another number of channels: one becomes many by copying, many become one by their mean.

    Raises:
        InvalidAudioError: many to other many, for which there is no rule.
    """
    import numpy as np

    have = samples.shape[1]
    if have == channels:
        return samples
    if have == 1:
        return np.repeat(samples, channels, axis=1)
    if channels == 1:
        one: Samples = samples.mean(axis=1, keepdims=True)
        return one
    raise InvalidAudioError(
        f"nobody knows how {have} channels become {channels}: convert to one channel first"
    )


def resample(samples: "Samples", rate: float, new_rate: float) -> "Samples":
    """The same sound at another sample rate, by soxr at its best quality.

    Raises:
        MissingExtraError: soxr is not installed.
    """
    import numpy as np

    if rate == new_rate or not len(samples):
        return samples
    try:
        import soxr  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtraError.of("converting the sample rate of sound", "voice") from error
    return np.asarray(soxr.resample(samples, rate, new_rate, quality="VHQ"), dtype=np.float64)
