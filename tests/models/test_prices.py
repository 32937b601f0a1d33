"""What tokens cost: your own prices first, then the library's, and nothing where neither knows."""

from collections.abc import Iterator

import pytest

from calipers.models import Price, Usage, cost_of, set_prices
from calipers.models.prices import price_sources

USED = Usage(input=1_000_000, output=100_000)


@pytest.fixture(autouse=True)
def no_own_prices() -> Iterator[None]:
    yield
    set_prices({})


def test_the_library_prices_a_model_of_a_provider():
    assert cost_of("openai:gpt-4o", USED) == pytest.approx(2.5 + 1.0)
    assert cost_of("openai:gpt-4o-2024-08-06", USED) == pytest.approx(3.5)
    assert cost_of("anthropic:claude-sonnet-4-5", Usage(input=1000, output=100)) == pytest.approx(0.0045)
    assert cost_of("gemini:gemini-2.5-flash", Usage(input=1000, output=100)) == pytest.approx(0.00055)
    assert cost_of("https://api.openai.com/v1#gpt-4o", USED) == pytest.approx(3.5)


def test_a_price_is_that_of_the_library_at_every_tier_and_for_every_kind_of_price():
    import genai_prices

    models = [(each.id, model.id) for each in genai_prices.data.providers for model in each.models][::5]
    assert len(models) > 100
    for provider, model in models:
        for tokens in (Usage(input=3, output=7), Usage(input=250_000, output=9)):
            counted = genai_prices.Usage(input_tokens=tokens.input, output_tokens=tokens.output)
            try:
                listed = genai_prices.calc_price(counted, model_ref=model, provider_id=provider).total_price
            except (LookupError, ValueError):
                listed = None
            found = cost_of(f"{provider}:{model}".replace("google:", "gemini:"), tokens)
            if ":" not in model and "/" not in model:
                assert found == (None if listed is None else pytest.approx(float(listed))), (provider, model)


def test_tokens_read_from_a_cache_are_part_of_the_input_and_cheaper():
    whole = cost_of("openai:gpt-4o", Usage(input=1000, output=0))
    cached = cost_of("openai:gpt-4o", Usage(input=1000, output=0, cache_read=600))
    assert (whole, cached) == (pytest.approx(0.0025), pytest.approx(0.00175))
    written = cost_of("anthropic:claude-sonnet-4-5", Usage(input=1000, output=0, cache_write=1000))
    assert written == pytest.approx(0.00375)


def test_the_model_that_answered_is_the_more_precise():
    assert cost_of("openai:my-alias", USED, answered_by="gpt-4o") == pytest.approx(3.5)


def test_what_is_not_known_costs_none_and_not_0():
    unknown = [
        ("openai:gpt-99", USED),
        ("openai:ft:gpt-4o:org::id", USED),
        ("gpt-4o", USED),
        ("ollama:llama3", USED),
        ("http://127.0.0.1:8000/v1#gpt-4o", USED),
        ("openai:gpt-4o", None),
        ("openai:gpt-4o", Usage()),
        ("openai:gpt-4o", Usage(input=10)),
        ("openai:gpt-4o", Usage(input=10, output=1, cache_read=99)),
    ]
    for name, used in unknown:
        assert cost_of(name, used) is None, (name, used)
    assert cost_of("openai:gpt-4o", USED, address="http://127.0.0.1:8000/v1") is None


def test_own_prices_come_first_by_the_full_name_and_by_the_bare_one():
    set_prices(
        {
            "gpt-4o": Price(input=1, output=2, cached_input=0.5),
            "openai:gpt-4o": Price(input=3, output=4),
            "free": Price(input=0, output=0),
        }
    )
    assert cost_of("openai:gpt-4o", USED) == pytest.approx(3.4)
    assert cost_of("azure:gpt-4o", USED) == pytest.approx(1.2)
    assert cost_of("http://127.0.0.1/v1", USED, answered_by="gpt-4o") == pytest.approx(1.2)
    half = Usage(input=1_000_000, output=0, cache_read=500_000)
    assert cost_of("azure:gpt-4o", half) == pytest.approx(0.75)
    assert cost_of("local:free", USED) == 0.0
    assert cost_of("local:free", Usage(output=3)) is None


def test_the_prices_that_are_used_can_be_told():
    set_prices({"small": Price(input=0.25, output=2, cached_input=0.1)})
    own, library = price_sources()
    assert own == "small: input 0.25, output 2, cached input 0.1"
    assert library.startswith("genai-prices ")
