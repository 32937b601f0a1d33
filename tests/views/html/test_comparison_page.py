"""The page of a comparison in a browser."""

import pytest

from calipers.comparison import compare_many
from calipers.views.comparison import write_comparisons

LONG = "a-name-without-a-single-blank-that-goes-on-and-on-" * 4


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    from calipers import Case, Dataset

    def run(task, name):
        cases = [Case(name=f"{LONG}{n}", inputs=n) for n in range(40)]
        data = Dataset(name="d", cases=cases, evaluators=[held, mood])
        return data.evaluate_sync(task, name=name, progress=False)

    def held(output):
        return "x" not in output

    held.__name__ = LONG

    def mood(output):
        return output[:200]

    def crash(n):
        if n == 3:
            raise ValueError(LONG)
        return str(n)

    found = compare_many(
        [
            run(lambda n: LONG * n, "old"),
            run(lambda n: "x" * 2000 if n % 2 else "y", LONG),
            run(crash, "c" * 60),
        ]
    )
    where = tmp_path_factory.mktemp("page") / "comparison.html"
    write_comparisons(found, where)
    return where


def test_the_page_never_scrolls_sideways(browser, path):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    try:
        page = context.new_page()
        page.goto(path.as_uri())
        for width in (1280, 800, 390, 320):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        lines = page.locator(".claim").first.locator("p").all_inner_texts()
        assert [line[:2] for line in lines] == ["▼ ", "Pa", "→ "]
    finally:
        context.close()
