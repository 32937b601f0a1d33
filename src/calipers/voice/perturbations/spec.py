"""Perturbations as plain data, so that a file can hold them.

A kind by its name (`telephone`), a kind with its first option (`{noise: 10}`), a kind with options by name
(`{noise: {snr: 10, color: pink}}`), or a list of these, one after the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from calipers.data.argument_checks import did_you_mean
from calipers.errors import InvalidOptionError

from .background import Babble, Noise
from .delivery import Clip, Gain, Pitch, Silence, Speed, Tempo
from .perturbation import Chain, Perturbation
from .transmission import Band, Codec, PacketLoss, Reverberation, Telephone

KINDS: Mapping[str, type[Perturbation]] = {
    each.kind: each
    for each in (
        *(Babble, Band, Clip, Codec, Gain, Noise, PacketLoss),
        *(Pitch, Reverberation, Silence, Speed, Telephone, Tempo),
    )
}
"""Every kind that comes with the library, by its name in files."""


def from_spec(spec: Any, *, kinds: Mapping[str, type[Perturbation]] = KINDS) -> Perturbation:
    """A perturbation from plain data, such as a file has; one that is made already stays as it is.

    ```python
    from_spec([{"reverberation": 0.5}, {"noise": {"snr": 10, "color": "pink"}}, "telephone"])
    ```

    Args:
        spec: a name, a mapping of one name to options, or a list of these.
        kinds: what the names stand for; add your own with `{**KINDS, "mute": Mute}`.

    Raises:
        InvalidOptionError: an unknown name, or options that the kind does not take.
    """
    if isinstance(spec, Perturbation):
        return spec
    if isinstance(spec, str):
        return _build(spec, {}, kinds)
    if isinstance(spec, Mapping):
        if len(spec) != 1:
            raise InvalidOptionError(
                f"{dict(spec)!r} must name one kind, as in {{'noise': {{'snr': 10}}}}; for several, give a list"
            )
        ((name, options),) = spec.items()
        return _build(name, options, kinds)
    if isinstance(spec, Sequence) and not isinstance(spec, bytes | bytearray):
        return Chain(*(from_spec(each, kinds=kinds) for each in spec))
    raise InvalidOptionError(
        f"{spec!r} is not a perturbation: give a name, a mapping of a name to options, or a list"
    )


def _build(name: Any, options: Any, kinds: Mapping[str, type[Perturbation]]) -> Perturbation:
    """A perturbation of a kind."""
    if name not in kinds:
        hint = did_you_mean(name, kinds)
        first, colon, option = str(name).partition(":")
        if colon and first.strip() in kinds:  # YAML takes it for one word
            hint = f" (did you mean '{first.strip()}: {option.strip()}', with a space?)"
        raise InvalidOptionError(
            f"{name!r} is not a kind of perturbation{hint}: choose from {', '.join(sorted(kinds))}"
        )
    kind = kinds[name]
    known = [field.name for field in fields(kind) if field.init]
    if not isinstance(options, Mapping):
        options = {} if options is None else {known[0]: options}
    if unknown := [option for option in options if option not in known]:
        raise InvalidOptionError(f"{name!r} has no option {unknown[0]!r}: it takes {', '.join(known)}")
    defaults = {field.name: (field.default, field.default_factory) for field in fields(kind)}
    if missing := [each for each in known if each not in options and defaults[each] == (MISSING, MISSING)]:
        raise InvalidOptionError(
            f"{name!r} needs {', '.join(missing)}: write {{{name}: {{{missing[0]}: ...}}}}"
        )
    try:
        return kind(**options)
    except TypeError as error:
        raise InvalidOptionError(f"{name!r} with {dict(options)!r}: {error}") from error
