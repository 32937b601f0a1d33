"""Testers that work towards a goal over several turns.

| module | what is in it |
|---|---|
| `single_turn` | `EachAttack`, `SampledAttack`: the attacks of the library, one per turn |
| `escalation` | `Escalation`: small steps |
| `persona` | `AssumedPersona`: somebody who may ask |
| `distraction` | `Distraction`: first other things, for long |
| `many_shot` | `ManyShot`: ever more examples |
| `backtracking` | `Backtracking`: takes back what was refused |
| `adaptive` | `Adaptive`: chooses by what happened |
| `library` | `STRATEGIES`: one of each, by name |

Each is a value with one method, `next_attack(so_far)`, that keeps no state: the turns so far and the source of chance
decide, and the same two give the same attack. That method is all that a search needs, too, so this is where one plugs in:
anything that chooses the next attack given what happened is a `Tester`.
"""

from .adaptive import Adaptive
from .backtracking import Backtracking
from .distraction import SMALL_TALK, Distraction
from .escalation import ESCALATING, Escalation
from .library import STRATEGIES
from .many_shot import ManyShot
from .persona import INTRODUCING, AssumedPersona
from .single_turn import EachAttack, SampledAttack

__all__ = [
    "ESCALATING",
    "INTRODUCING",
    "SMALL_TALK",
    "STRATEGIES",
    "Adaptive",
    "AssumedPersona",
    "Backtracking",
    "Distraction",
    "EachAttack",
    "Escalation",
    "ManyShot",
    "SampledAttack",
]
