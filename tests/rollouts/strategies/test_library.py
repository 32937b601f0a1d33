import re
from dataclasses import fields
from pathlib import Path

import calipers.rollouts.strategies
from calipers.rollouts.strategies import STRATEGIES

SURVEYS = {"EachAttack", "SampledAttack"}


def test_the_library_has_one_of_each_strategy():
    kinds = {
        name
        for name in calipers.rollouts.strategies.__all__
        if isinstance(getattr(calipers.rollouts.strategies, name), type)
    }
    assert {type(strategy).__name__ for strategy in STRATEGIES.values()} == kinds - SURVEYS


def test_the_table_of_the_page_lists_them_all_with_their_options():
    page = (Path(__file__).parents[3] / "docs/how-to/attack-a-target.md").read_text(encoding="utf-8")
    rows = page.split("| strategy | name |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    cells = [[re.findall(r"`(\w+)`", cell) for cell in row.split("|")] for row in rows]
    assert [(name, kind, options) for _, [kind], [name], _, options, _ in cells] == [
        (name, type(strategy).__name__, [field.name for field in fields(strategy)])
        for name, strategy in STRATEGIES.items()
    ]
