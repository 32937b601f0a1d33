"""A prompt: a text in a file of its own, with the version that its author raises when the meaning changes.

A file begins with lines `key: value`, of which `version` is one; after an empty line stands the text. `{{name}}` in the text is a
gap. Values are put in all at once, so that a gap in a value stays what it is.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

from calipers.errors import InvalidOptionError
from calipers.identity.fingerprint import digest

_GAP: Final = re.compile(r"\{\{(\w+)\}\}")
_DIGITS: Final = 8
"""Of the digest, in the version of an evaluator."""


class Prompt(msgspec.Struct, frozen=True):
    """A text with gaps."""

    name: str
    text: str
    version: str = "1"

    @property
    def label(self) -> str:
        """Name, version and a digest of the text: what makes two prompts the same."""
        return f"{self.name} {self.version} ({digest(self.text.encode())[:_DIGITS]})"

    def filled(self, values: Mapping[str, str]) -> str:
        """The text with a value in each gap.

        Raises:
            InvalidOptionError: a gap has no value.
        """
        try:
            return _GAP.sub(lambda found: values[found[1]], self.text)
        except KeyError as missing:
            raise InvalidOptionError(
                f"the prompt {self.name!r} has a gap {missing.args[0]!r}, and nothing fills it"
            ) from None


@cache
def prompt_named(name: str) -> Prompt:
    """A prompt that comes with Calipers: the file `prompts/NAME.md` beside this module."""
    head, _, text = (files("calipers.judges") / "prompts" / f"{name}.md").read_text("utf-8").partition("\n\n")
    told = dict(line.split(": ", 1) for line in head.splitlines())
    return Prompt(name, text.strip(), told["version"])
