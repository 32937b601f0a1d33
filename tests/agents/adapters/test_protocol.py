"""Any object with a name and `invoke` is an adapter."""

import pytest

from calipers.agents import Adapter, FunctionAdapter, HttpAdapter, Trace


class Own:
    name = "own"

    def invoke(self, input_text):
        return Trace(output_text=input_text)


class OwnLater:
    @property
    def name(self):
        return "own"

    async def invoke(self, input_text):
        return Trace(output_text=input_text)


class Nameless:
    def invoke(self, input_text):
        return Trace()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Own(), True),
        (OwnLater(), True),
        (FunctionAdapter(str.upper), True),
        (HttpAdapter("http://localhost"), True),
        (Nameless(), False),
        (str.upper, False),
    ],
    ids=["own", "own async", "function", "http", "nameless", "plain function"],
)
def test_an_adapter_is_known_by_what_it_has(value, expected):
    assert isinstance(value, Adapter) is expected
