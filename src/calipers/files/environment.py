"""Texts of a file that stand for variables of the environment: `${NAME}`, so that a file need not hold a secret.

`$${NAME}` is the text `${NAME}` itself. A variable that is not set, or is empty, is a problem of the file: a request with half
of its key would fail in ways that say something else.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

from calipers.files.problem import Problems, Steps, shorten
from calipers.models.concealment import secrets_of

_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")


def filled(value: Any, steps: Steps, problems: Problems, *, environ: Mapping[str, str] | None = None) -> Any:
    """The value with variables in place of their names, at whatever depth; what is wrong is added to the problems."""
    known = os.environ if environ is None else environ
    if isinstance(value, dict):
        return {key: filled(each, (*steps, key), problems, environ=known) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, (*steps, index), problems, environ=known) for index, each in enumerate(value)]
    if not isinstance(value, str):
        return value

    def found(reference: re.Match[str]) -> str:
        if reference[0] == "$${":
            return "${"
        name = reference[1]
        if name is None:
            problems.add(
                steps, "`${` begins the name of a variable, as in ${NAME}: write $${ for the text itself"
            )
        elif not known.get(name):
            problems.add(steps, f"the environment variable {shorten(name)} is not set")
        return known.get(name or "", "")

    return _REFERENCE.sub(found, value)


def referred(value: Any, *, environ: Mapping[str, str] | None = None) -> list[str]:
    """The values of all variables that a value refers to, which no message should repeat."""
    known = os.environ if environ is None else environ
    if isinstance(value, dict):
        return [each for item in value.values() for each in referred(item, environ=known)]
    if isinstance(value, list):
        return [each for item in value for each in referred(item, environ=known)]
    names = [found[1] for found in _REFERENCE.finditer(value)] if isinstance(value, str) else []
    return [known[name] for name in names if name and known.get(name)]


def refuse_secrets(options: Mapping[str, Any], steps: Steps, problems: Problems) -> None:
    """Add secrets that stand in the file to the problems, without repeating them.

    Args:
        options: as the file has them: keys, headers and addresses are looked at.
        steps: where the options stand.
        problems: that were found so far.
    """
    way_out = "does not belong into a file: write ${NAME}, and set that variable"
    if _written(options.get("api_key")):
        problems.add((*steps, "api_key"), f"a key {way_out}")
    for name in ("url", "base_url"):
        if secrets_of(_written(options.get(name)), None):
            problems.add((*steps, name), f"the secret in this address {way_out}")
    headers = options.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if secrets_of("", {str(name): _written(value)}):
            problems.add((*steps, "headers", name), f"the value of this header {way_out}")


def _written(value: Any) -> str:
    """What stands in the file itself, apart from names of variables."""
    return _REFERENCE.sub("", value) if isinstance(value, str) else ""
