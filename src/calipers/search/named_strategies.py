"""Strategies by name, for the command line: each is made of a space alone."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from calipers.data.argument_checks import did_you_mean
from calipers.errors import InvalidOptionError

from .bandits import ThompsonBandit, UpperBoundBandit
from .cross_entropy import CrossEntropy
from .evolution import Evolution
from .random_draws import RandomDraws
from .splitting import Splitting
from .strategy import Strategy
from .tree_search import TreeSearch

NAMED_STRATEGIES: Mapping[str, Callable[[Any], Strategy]] = MappingProxyType(
    {
        "random": RandomDraws,
        "splitting": Splitting,
        "thompson": ThompsonBandit,
        "ucb": UpperBoundBandit,
        "evolution": Evolution,
        "tree": TreeSearch,
        "cross-entropy": CrossEntropy,
    }
)
"""What makes each strategy of a space."""


def named_strategy(name: str, space: Any) -> Strategy:
    """The strategy with this name, over a space.

    Raises:
        InvalidOptionError: there is none, or it needs a space of another kind.
    """
    if name not in NAMED_STRATEGIES:
        hint = did_you_mean(name, NAMED_STRATEGIES)
        raise InvalidOptionError(f"no strategy {name!r}{hint}: there are {', '.join(NAMED_STRATEGIES)}")
    return NAMED_STRATEGIES[name](space)
