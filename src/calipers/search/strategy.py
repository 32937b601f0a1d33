"""A strategy: chooses what to try next, and learns from what came of it. Two methods, and no base class.

```python
class Mine:
    def ask(self, rng):          # a Proposal, or None when there is nothing left to try
        return self.space.sample(rng)

    def tell(self, outcome):     # an Outcome
        ...
```

**All chance comes from `rng`**, which the search makes anew for each proposal from its seed and the number of the proposal.

**The order is fixed.** With `k` trials in flight, proposal `n` is asked for when exactly the outcomes of trials 1 to `n - k` were told, in
that order, however long each took. So the same seed, space and `k` give the same search, as long as the system gives the same answers,
and an interrupted run is resumed by asking again and telling the recorded outcomes.

**A strategy that asks a model** says `asks_models = True`: when a run is resumed, its recorded proposals are told to it, and it is not asked
for them again. Its only state is what `tell` gives it.

Either method may be async.
"""

import random
from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from .proposal import Proposal
from .trial_outcome import Outcome


@runtime_checkable
class Strategy(Protocol):
    """Chooses what to try next, and learns from what came of it."""

    def ask(self, rng: random.Random) -> Proposal | Awaitable[Proposal | None] | None:
        """What to try next; `None` when there is nothing left to try."""
        ...

    def tell(self, outcome: Outcome) -> Awaitable[None] | None:
        """What came of a proposal."""
        ...
