"""Ways to ask differently: values that make an attack of a goal.

| module | what is in it |
|---|---|
| `transformation` | `Transformation`, the base; `Chain`, several in a row; `Direct`, none |
| `encoding` | `Base64`, `Hex`, `Rot13`, `Morse`, `Backwards`, `PigLatin`: to be decoded |
| `disguise` | `Leetspeak`, `LookAlikes`, `ZeroWidth`, `RightToLeft`, `FullWidth`, `SpelledOut`: people read them as before |
| `hiding` | `PayloadSplitting`, `MadeUpLanguage`, `ErrandList`: nowhere in one piece |
| `wording` | `Wording`, one from texts; `RolePlay`, `Fiction`, `Hypothetical`, `AuthorityClaim`, `SystemImitation`: a story around it; `PrefixInjection`, `RefusalSuppression`, `FormatForcing`, `FewShot`: no room to refuse |
| `library` | `ATTACKS`: one of each, by name |
"""

from .disguise import Disguise, FullWidth, Leetspeak, LookAlikes, RightToLeft, SpelledOut, ZeroWidth
from .encoding import Backwards, Base64, Encoding, Hex, Morse, PigLatin, Rot13
from .hiding import ErrandList, MadeUpLanguage, PayloadSplitting
from .library import ATTACKS, as_attacks
from .transformation import Chain, Direct, Transformation
from .wording import (
    AuthorityClaim,
    FewShot,
    Fiction,
    FormatForcing,
    Hypothetical,
    PrefixInjection,
    RefusalSuppression,
    RolePlay,
    SystemImitation,
    Wording,
)

__all__ = [
    "ATTACKS",
    "AuthorityClaim",
    "Backwards",
    "Base64",
    "Chain",
    "Direct",
    "Disguise",
    "Encoding",
    "ErrandList",
    "FewShot",
    "Fiction",
    "FormatForcing",
    "FullWidth",
    "Hex",
    "Hypothetical",
    "Leetspeak",
    "LookAlikes",
    "MadeUpLanguage",
    "Morse",
    "PayloadSplitting",
    "PigLatin",
    "PrefixInjection",
    "RefusalSuppression",
    "RightToLeft",
    "RolePlay",
    "Rot13",
    "SpelledOut",
    "SystemImitation",
    "Transformation",
    "Wording",
    "ZeroWidth",
    "as_attacks",
]
