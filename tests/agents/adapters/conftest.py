"""An interceptor of tools, for each adapter."""

import pytest

from calipers.agents import Proceed, Raise, Return, intercepting_tools


class Interceptor:
    """Puts something else in the place of what a tool gave, or breaks the call."""

    def __init__(self, *, value=None, error=None):
        self.value = value
        self.error = error
        self.asked = []
        self.seen = []

    def before(self, name, arguments):
        self.asked.append((name, dict(arguments)))
        return Proceed() if self.error is None else Raise(self.error)

    def after(self, name, arguments, outcome):
        self.seen.append(outcome.value if isinstance(outcome, Return) else type(outcome.error).__name__)
        return outcome if self.value is None or isinstance(outcome, Raise) else Return(self.value)


@pytest.fixture
def intercepted():
    """Run something with an interceptor: what it gave, and the interceptor."""

    def run(work, **options):
        one = Interceptor(**options)
        with intercepting_tools(one):
            return work(), one

    return run
