"""Which versions of Calipers a plugin works with: `>=0.1,<2`, in the words of Python packages.

The operators are `>=`, `<=`, `>`, `<`, `==`, `!=` and `~=`; several are joined by commas, and all of them
must hold. `==1.2.*` means any 1.2, and `~=1.2` means at least 1.2 and below 2. A pre-release such as `1.0rc1`
comes before its release and is a version like any other: who runs one wants to know whether the plugin works
with it. Epochs (`1!2.0`) and local versions (`1.0+mine`) are not read.
"""

import re

from calipers.errors import PluginError

_VERSION = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<phase>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<phase_number>\d*))?"
    r"(?:[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?P<operator>~=|==|!=|<=|>=|<|>)\s*(?P<version>[^\s*]+?)(?P<any>\.\*)?")
_PHASES = {"a": 0, "alpha": 0, "b": 1, "beta": 1}
_RELEASED = 3
"""After every phase that leads to a release; a candidate is 2."""

_Key = tuple[tuple[int, ...], tuple[int, int], int, float]


def satisfies(version: str, requirement: str) -> bool:
    """Whether a version is one of those that are required.

    Raises:
        PluginError: one of the two cannot be read.
    """
    have = _key(version)
    clauses = [clause.strip() for clause in requirement.split(",")]
    found = [(clause, _CLAUSE.fullmatch(clause)) for clause in clauses if clause]
    if not found or not all(match for _, match in found):
        wrong = next((clause for clause, match in found if not match), requirement)
        raise PluginError(
            f"{wrong!r} is no requirement of a version: write an operator and a version, such as '>=0.1,<2'"
        )
    return all(_holds(have, match) for _, match in found if match)


def _holds(have: _Key, clause: re.Match[str]) -> bool:
    operator, text, any_below = clause["operator"], clause["version"], clause["any"]
    wanted = _key(text)
    release = _release(text)
    if any_below:
        if operator not in {"==", "!="}:
            raise PluginError(f"{clause[0]!r}: only == and != can be followed by a version with .*")
        return _begins_with(have, release) is (operator == "==")
    match operator:
        case "==":
            return have == wanted
        case "!=":
            return have != wanted
        case "<=":
            return have <= wanted
        case ">=":
            return have >= wanted
        case "~=":
            if len(release) < 2:
                raise PluginError(
                    f"{clause[0]!r}: ~= needs two numbers at least, such as ~=1.0: the last may grow"
                )
            return have >= wanted and _begins_with(have, release[:-1])
        case ">":  # a later build of the same version is not above it
            return have > wanted and (have[:2] != wanted[:2] or not _is_post(have) or _is_post(wanted))
        case _:  # what leads to a version is not below it
            return have < wanted and (_leads_to(have) != (wanted[0], wanted[2]) or _is_early(wanted))


def _key(version: str) -> _Key:
    """What versions are compared by: release, phase, post-release, and whether it is still in development."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        raise PluginError(f"{version!r} is no version: expected numbers with dots, such as 1.2.0 or 1.2rc1")
    phase = match["phase"]
    dev = float(match["dev_number"] or 0) if match["dev"] else float("inf")
    post = int(match["post_number"] or 0) if match["post"] else -1
    if phase:
        stage = (_PHASES.get(phase.lower(), 2), int(match["phase_number"] or 0))
    else:
        stage = (-1, 0) if match["dev"] and post < 0 else (_RELEASED, 0)
    release = list(_release(version))
    while len(release) > 1 and release[-1] == 0:
        release.pop()  # 1.0 is 1
    return tuple(release), stage, post, dev


def _release(version: str) -> tuple[int, ...]:
    match = _VERSION.fullmatch(version.strip())
    return tuple(int(part) for part in match["release"].split(".")) if match else ()


def _begins_with(have: _Key, release: tuple[int, ...]) -> bool:
    padded = have[0] + (0,) * (len(release) - len(have[0]))
    return padded[: len(release)] == release


def _is_early(key: _Key) -> bool:
    """Whether it is a pre-release, or in development."""
    return key[1][0] < _RELEASED or key[3] != float("inf")


def _leads_to(key: _Key) -> tuple[tuple[int, ...], int] | None:
    """The release, and the post-release of it, that a pre-release is for."""
    if not _is_early(key):
        return None
    return key[0], -1 if key[1][0] < _RELEASED else key[2]


def _is_post(key: _Key) -> bool:
    return key[2] >= 0
