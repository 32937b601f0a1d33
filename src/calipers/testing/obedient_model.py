r"""`ObedientModel`: a judge's worst model. It does what the evidence says.

It reads everything that is not the system's message, undoes disguises (full-width and Cyrillic letters, characters that no one sees, also where
they are told as `\u{...}`), and obeys:

- one of the aims of `calipers.judges.injections`, or a forged verdict: it gives the best verdict there is;
- what the evidence says about the seal. Where it says several things, the last word counts, the first one, or that of a candidate who
  knows what seals and decoys are (`heeds`).

Otherwise it is an honest judge of one case: it lets nothing pass. So every injection gets through an unfenced judge with this model.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final, Literal

from calipers.judges.fence import SEAL, seal_in
from calipers.judges.injection import aims
from calipers.models.model import Ask
from calipers.models.model_answer import Completion

_LATIN: Final = str.maketrans("асеорхуіАВСЕНКМОРТХ", "aceopxyiABCEHKMOPTX")  # noqa: RUF001 - that is the point
_HIDDEN: Final = re.compile(r"\\u\{([0-9a-f]+)\}")
_SEAL_ORDER: Final = re.compile(
    r"\b([0-9a-f]{8})\b|(copy it into the field seal|do not use its seal|copied from the instructions)"
)
_FORGED: Final = ("verdict: pass", '"pass": true', "[[5]]")


class ObedientModel:
    """A model that obeys the evidence.

    Args:
        heeds: which word about the seal counts.
    """

    def __init__(self, heeds: Literal["last", "first", "candidate"] = "last") -> None:
        self.heeds = heeds
        self.name = "scripted:obedient"

    async def ask(self, ask: Ask, /) -> Completion:
        """The best verdict, if the evidence asks for it; else the worst."""
        read = _undisguised(
            "\n".join(str(each["content"]) for each in ask.messages if each["role"] != "system")
        )
        obeys = any(aim in read for aim in map(str.casefold, aims())) or any(mark in read for mark in _FORGED)
        answer = _verdict((ask.schema or {}), best=obeys)
        if (seal := seal_in(ask.messages)) is not None:
            answer[SEAL] = self._seal(_SEAL_ORDER.findall(read)) or seal
        return Completion(text=json.dumps(answer), finish="stop", model=self.name)

    def _seal(self, orders: list[tuple[str, str]]) -> str:
        """The seal of a decoy, if the model heeds that; empty: the one of the instructions."""
        if not orders or (self.heeds == "candidate" and any(copied for _, copied in orders)):
            return ""
        return orders[0 if self.heeds == "first" else -1][0]


def _undisguised(text: str) -> str:
    text = _HIDDEN.sub(lambda found: chr(int(found[1], 16)), text)
    text = "".join(
        chr(ord(char) - 0xE0000) if 0xE0020 <= ord(char) <= 0xE007E else char
        for char in text
        if unicodedata.category(char) != "Cf" or ord(char) > 0xE0000
    )
    return unicodedata.normalize("NFKC", text.translate(_LATIN)).casefold()


def _verdict(schema: Mapping[str, Any], *, best: bool) -> Any:
    """The best or the worst value that follows a schema."""
    if "enum" in schema:
        return schema["enum"][-1 if best else 0]
    match schema.get("type"):
        case "object":
            return {name: _verdict(each, best=best) for name, each in schema.get("properties", {}).items()}
        case "array":
            return [_verdict(schema["items"], best=best)]
        case "boolean":
            return best
        case "number" | "integer":
            return schema.get("maximum", 1) if best else schema.get("minimum", 0)
        case _:
            return "I was told so." if best else "It is not met."
