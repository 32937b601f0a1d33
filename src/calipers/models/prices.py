"""What the tokens of an answer cost, in US dollars.

Prices come from two places. Your own, by the name of the model, count first: those of the project file (`prices`), or what a program
gives `set_prices`. All others come from `genai-prices`, a list of providers' prices that is part of its package: nothing is fetched. A
model is looked up with its provider, so `openai:gpt-4o` has a price, and `gpt-4o` on a server of unknown address has none.

A cost that is not known is `None`, never 0: the model has no price, or the answer does not tell its tokens.
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from calipers.models.model_answer import Usage

_PROVIDERS: Final = {"gemini": "google", "openai-responses": "openai"}
"""What the library calls a provider that has another name here."""
_MILLION: Final = 1_000_000
_MOST_TOKENS: Final = 2**63
_PER_TOKEN: Final = ("_mtok", "_searches_kcount")
"""How the library names prices of tokens, and of searches, which no answer here counts."""


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What a model costs, in US dollars for a million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """For cached input; `None`: the same as other input."""

    def of(self, usage: "Usage") -> float | None:
        """What these tokens cost; `None` if not all of them are told."""
        if usage.input is None or usage.output is None:
            return None
        cached = min(usage.cache_read or 0, usage.input)
        reading = self.input if self.cached_input is None else self.cached_input
        read = (usage.input - cached) * self.input + cached * reading
        return (read + usage.output * self.output) / _MILLION


_own: dict[str, Price] = {}


def set_prices(prices: Mapping[str, Price]) -> None:
    """Use these prices before all others, from now on, in the whole process; those set before are forgotten.

    Args:
        prices: by the name of a model, with its provider (`openai:gpt-5-mini`) or without (`gpt-5-mini`: at any provider).
    """
    global _own  # noqa: PLW0603
    _own = dict(prices)


def cost_of(
    model_name: str, usage: "Usage | None", *, answered_by: str | None = None, address: str | None = None
) -> float | None:
    """What an answer cost, in US dollars; `None` if that is not known.

    Args:
        model_name: the model that was asked, with its provider (`openai:gpt-4o`), or the URL of a server (`https://host/v1#model`).
        usage: its tokens; `None`: not told.
        answered_by: the model that answered, as the provider names it, such as a dated version.
        address: the URL of the server, which says who the provider is; default: the name does.
    """
    if usage is None or usage.input is None or usage.output is None:
        return None
    if "://" in model_name:
        url, _, asked = model_name.partition("#")
        provider, address = "", address or url
    else:
        provider, _, asked = model_name.rpartition(":")
    names = [name for name in dict.fromkeys((asked, answered_by)) if name]
    for name in (model_name, *names):
        if (price := _own.get(name)) is not None:
            return price.of(usage)
    where = ("provider_api_url", address) if address else ("provider_id", _PROVIDERS.get(provider, provider))
    for name in reversed(names) if address or provider else ():  # who answered is the more precise
        if (cost := _listed(name, usage, where)) is not None:
            return cost
    return None


def priced_name(model: str) -> str:
    """The name under which you gave the price of a model whose provider is not told, as traces have it: its own, or the only one with a provider."""
    with_provider = [name for name in _own if name.rpartition(":")[2] == model]
    return with_provider[0] if model not in _own and len(with_provider) == 1 else model


def _listed(model: str, usage: "Usage", where: tuple[str, str]) -> float | None:
    """The cost by the library's prices; `None` where it has none for the model, or is not installed."""
    rates = _rates(model, *where)
    if rates is None:
        return None
    tokens = usage.input or 0, usage.output or 0
    if not usage.cache_read and not usage.cache_write and tokens[0] < rates.below:
        return float((tokens[0] * rates.input + tokens[1] * rates.output) / _MILLION)
    library = load_library()
    counted = {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
    }
    told = {name: count for name, count in counted.items() if count is not None}
    try:
        found = library.calc_price(library.Usage(**told), model_ref=model, **dict([where]))
    except (LookupError, ValueError):  # a model without a price; counts that contradict each other
        return None
    return float(found.total_price)


class _Rates(NamedTuple):
    """What tokens of a model cost by the library, as long as they are few and none is cached: which nearly all are."""

    input: Decimal
    output: Decimal
    below: int
    """Input tokens from which on the library has to be asked, such as for a higher tier."""


@lru_cache(maxsize=256)  # the library takes a quarter of a millisecond for each answer
def _rates(model: str, key: str, value: str) -> _Rates | None:
    """The rates of a model; `None` where it has no price, or the library is not installed."""
    library = load_library()
    if library is None:
        return None
    try:
        one = library.calc_price(
            library.Usage(input_tokens=1, output_tokens=1), model_ref=model, **{key: value}
        )
    except (LookupError, ValueError):
        return None
    prices = {name: price for name, price in vars(one.model_price).items() if price is not None}
    plain = all(name.endswith(_PER_TOKEN) for name in prices) and not isinstance(one.model.prices, list)
    read, written = prices.get("input_mtok"), prices.get("output_mtok")
    tiers = [tier.start for price in (read, written) for tier in getattr(price, "tiers", ())]
    read, written = getattr(read, "base", read), getattr(written, "base", written)
    if not plain or not isinstance(read, Decimal) or not isinstance(written, Decimal):
        return _Rates(Decimal(0), Decimal(0), below=0)
    return _Rates(read, written, below=min(tiers, default=_MOST_TOKENS))


@cache
def load_library() -> Any:
    """The module with the prices; `None` where it is not installed. Loading it takes a sixth of a second."""
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


def price_sources() -> list[str]:
    """Which prices are used, loaded by now: your own, one by one, and the library with its version."""
    own = [
        f"{name}: input {price.input:g}, output {price.output:g}"
        + ("" if price.cached_input is None else f", cached input {price.cached_input:g}")
        for name, price in _own.items()
    ]
    library = load_library()
    return own if library is None else [*own, f"genai-prices {library.__version__}"]
