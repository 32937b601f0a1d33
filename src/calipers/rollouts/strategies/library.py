"""The strategies of the library, under their names."""

from collections.abc import Mapping
from types import MappingProxyType

from calipers.rollouts.players import Tester

from .adaptive import Adaptive
from .backtracking import Backtracking
from .distraction import Distraction
from .escalation import Escalation
from .many_shot import ManyShot
from .persona import AssumedPersona

STRATEGIES: Mapping[str, Tester] = MappingProxyType(
    {
        "escalation": Escalation(),
        "persona": AssumedPersona(),
        "distraction": Distraction(),
        "many_shot": ManyShot(),
        "backtracking": Backtracking(),
        "adaptive": Adaptive(),
    }
)
"""Every strategy by its name, as it comes."""
