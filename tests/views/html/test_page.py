"""The page in a browser: what a reader can do with it, and what the data on it cannot."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from calipers import Case, Dataset, LLMCall, Skipped, ToolCall, Trace, Turn, as_evaluator
from calipers.report import Incomplete
from calipers.report.analysis import TableResult
from calipers.stats.number_text import number, seconds
from calipers.views.html import write_html
from calipers.views.html.records import embedded_records

LETTER = "Dear Ada,\n\nyour order A-1 left on 3 May.\nIt will arrive soon.\n\nKind regards\nOrder desk\n1\n2\n3\n4\n5"


@pytest.fixture
def report(records):
    """Five attempts: passed, failed, failed with a diff of lines, evaluator crashed, task crashed."""
    return records.report(
        records.case(
            "alpha",
            records.result("Equal", True),
            records.result("score", 0.5),
            records.result("tone", "warm"),
            expected_output="Paris",
            output="Paris",
            task_duration=0.2,
        ),
        records.case(
            "beta",
            records.result("Equal", False, "expected 'Lima',\ngot 'Lime'", score=0.25),
            records.result("score", 0.125),
            records.result("tone", "cold"),
            expected_output="the city of Lima is large",
            output="the town of Lima is very large",
            metrics={"tokens": 1200},
            attributes={"model": "small-2"},
            metadata={"topic": "cities"},
            skipped=(records.skip("cites", "nothing to cite"),),
            tries=2,
            task_duration=3.0,
        ),
        records.case(
            "gamma",
            records.result("Equal", False),
            records.result("score", 12.0),
            expected_output=LETTER,
            output=LETTER.replace("3 May", "4 May").replace("soon", "late"),
            task_duration=0.1,
        ),
        records.case(
            "delta",
            records.result("score", 3.0),
            evaluator_failures=(
                records.broken("Equal", "KeyError: 'answer'", "Traceback\n  line 3\nKeyError"),
            ),
        ),
        records.failure(
            "epsilon", "TimeoutError: too slow", not_run=("Equal",), error_stacktrace="Traceback\n  slow"
        ),
    )


def names(page):
    return page.locator("tr.attempt button.name").all_inner_texts()


def column(page, kind):
    return page.locator(f"tr.attempt td.{kind}").all_inner_texts()


def opened(page, name):
    page.get_by_role("button", name=name, exact=True).click()
    return page.locator("tr.details").last


# ---------------------------------------------------------------------- sorting


def test_a_click_on_a_head_sorts_another_turns_round_a_third_restores(visit, report):
    page = visit(report)
    head = page.get_by_role("columnheader", name="score")
    button = head.get_by_role("button")
    orders = {
        "none": ["alpha", "beta", "gamma", "delta", "epsilon"],
        "ascending": ["beta", "alpha", "delta", "gamma", "epsilon"],
        "descending": ["gamma", "delta", "alpha", "beta", "epsilon"],
    }
    for way in ("none", "ascending", "descending", "none"):
        assert head.get_attribute("aria-sort") == way
        assert names(page) == orders[way], "what has no score comes last, both ways"
        button.focus()
        page.keyboard.press("Enter")
        assert button.evaluate("node => node === document.activeElement"), "the keyboard stays where it is"


def test_every_column_can_be_sorted_and_shows_trouble_first(visit, report):
    page = visit(report)
    for head, first, last in (
        ("Passed", "delta", "alpha"),
        ("Name", "alpha", "gamma"),
        ("Equal", "delta", "alpha"),
        ("tone", "beta", "epsilon"),
        ("Time", "beta", "gamma"),
        ("Input", "alpha", "gamma"),
        ("Output", "delta", "epsilon"),
    ):
        page.get_by_role("columnheader", name=head).get_by_role("button").click()
        assert (names(page)[0], names(page)[-1]) == (first, last), head


# ---------------------------------------------------------------------- values, tags, causes


def test_inputs_and_outputs_stand_in_the_table_on_one_line(visit, report):
    page = visit(report)
    first, second = page.locator("tr.attempt").nth(2).locator("td.value").all_inner_texts()
    assert first == "question gamma"
    assert second.startswith("Dear Ada, your order"), "line breaks are spaces"


def test_repeats_with_several_outputs_say_how_many(visit, records):
    attempts = [
        records.case(
            f"a [{n}/3]", records.result("x", False), source_case_name="a", output=output, inputs="q"
        )
        for n, output in enumerate("yyn", 1)
    ]
    page = visit(records.report(*attempts, repeat=3))
    assert page.locator("tr.case td.value").all_inner_texts() == ["q", "2 values"]


def test_tags_have_rows_and_are_found_by_search(visit, records):
    cases = [
        records.case(name, records.result("x", name != "c"), tags=tags)
        for name, tags in (("a", ("de", "<b>")), ("b", ("de",)), ("c", ()))
    ]
    page = visit(records.report(*cases))
    section = page.get_by_role("region", name="Slices")
    assert section.locator("tbody th").all_inner_texts() == ["de", "no value", "<b>"]
    assert section.locator("tbody td:nth-child(3) .value").all_inner_texts() == [
        "100.0 %",
        "0.0 %",
        "100.0 %",
    ]
    page.get_by_role("searchbox").fill("<b>")
    assert names(page) == ["a"]
    assert "de, <b>" in opened(page, "a").inner_text()


def test_lists_of_messages_are_transcripts_and_stay_data(visit, records):
    asked = [{"role": "system", "content": "Be <b>kind</b>."}, {"role": "user", "content": "Where is 17?"}]
    call = {"id": "1", "function": {"name": "find", "arguments": '{"id": 17}'}}
    answered = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "lost"},
        {"role": "assistant", "content": "It was <i>lost</i>."},
    ]
    page = visit(records.report(records.case("a", inputs={"messages": asked}, output=answered)))
    assert column(page, "value") == ["Where is 17?", "It was <i>lost</i>."]
    shown = opened(page, "a")
    assert shown.locator(".utterance").all_inner_texts() == [
        "user\nWhere is 17?",
        "agent\nIt was <i>lost</i>.",
    ]
    assert "told beforehand Be <b>kind</b>." in shown.inner_text()
    assert [line.split() for line in shown.locator(".turns li").all_inner_texts()] == [
        ["tool", "find", "with", '{"id":', "17}", "gave", "lost"]
    ]
    data = shown.get_by_role("group").filter(has_text="as data")
    assert data.count() == 2
    data.last.locator("summary").click()
    assert '"tool_call_id": "1"' in data.last.inner_text()
    copied = page.evaluate("JSON.parse(document.getElementById('data').textContent).attempts[0]")
    assert copied["inputs"]["json"].startswith('{\n  "messages"')


@pytest.mark.parametrize("repeat", [1, 2])
def test_failures_that_are_alike_link_to_their_cases(visit, records, repeat):
    def attempts(name, reason):
        for n in range(1, repeat + 1):
            more = {"source_case_name": name} if repeat > 1 else {}
            named = f"{name} [{n}/{repeat}]" if repeat > 1 else name
            yield records.case(named, records.result("Equal", reason is None, reason), **more)

    cases = [
        record
        for name, reason in (("a", "got 1"), ("b", None), ("c", "got 2"), ("d", "got 'x'"))
        for record in attempts(name, reason)
    ]
    failed = records.failure("e", "ValueError: boom")
    page = visit(records.report(*cases, failed, repeat=repeat))
    section = page.get_by_role("region", name="What went wrong")
    assert [row.split() for row in section.locator("tbody tr").all_inner_texts()] == [
        ["got", "<…>", "Equal", "3", "75.0", "%", "a"],
        ["ValueError:", "boom", "the", "task", "1", "25.0", "%", "e"],
    ]
    section.get_by_role("link", name="got <…>").click()
    page.get_by_role("button", name="Equal: got <…>").wait_for()
    found = [name for name in ("a", "c", "d") for _ in range(repeat)]
    assert [title.split(" ")[0] for title in titles(page)] == found
    page.get_by_role("button", name="Equal: got <…>").click()
    assert len(titles(page)) == 4 * repeat + 1, "all again"
    section.get_by_role("link", name="e", exact=True).click()
    page.locator("tr.attempt.open").wait_for()
    assert page.locator("tr.attempt.open button.name").get_attribute("title") == "e"


def test_a_reader_chooses_by_what_a_run_is_cut(visit, records):
    cases = [
        records.case(
            f"c{n}",
            records.result("Equal", n % 4 > 0 and n != 5, f"got {n}"),
            records.result("score", n / 40),
            tags=("even",) if n % 2 == 0 else (),
            metadata={"lang": ["de", "fr"][n % 4 > 0], "id": n},
        )
        for n in range(40)
    ]
    page = visit(records.report(*cases))
    section = page.get_by_role("region", name="Slices")
    by, of = section.get_by_role("combobox").all()
    assert by.locator("option").all_inner_texts() == ["tag", "meta.lang"]
    assert "undefined" not in page.locator("body").inner_text()
    assert of.locator("option").all_inner_texts() == ["pass rate", "Equal", "score"]
    by.select_option("meta.lang")
    rows = section.locator("tbody tr").all_inner_texts()
    assert [" ".join(row.split()).replace("\N{MINUS SIGN}", "-") for row in rows] == [
        "fr 30 96.7 %[83.3, 99.4] +96.7 points [+65.9, +99.4] differs p < 0.001",
        "de 10 0.0 %[0.0, 27.8] -96.7 points [-99.4, -65.9] differs p < 0.001",
    ]
    assert "Corrected for looking at 2 slices: Holm" in section.inner_text()
    assert "Left out: meta.id: no value in two cases" in section.inner_text()
    of.select_option("score")
    assert "0.500[0.393, 0.607]" in section.locator("tbody tr").nth(0).inner_text()
    section.get_by_role("link", name="fr").click()
    page.get_by_role("button", name="meta.lang:fr").wait_for()
    assert len(titles(page)) == 30
    mostly = page.get_by_role("region", name="What went wrong").get_by_role("link", name="meta.lang:de")
    mostly.click()
    page.get_by_role("button", name="meta.lang:de").wait_for()
    chosen = [each[:-2] for each in page.locator(".terms button").all_inner_texts()]
    assert chosen == ["Equal: got <…>", "meta.lang:de"]
    assert len(titles(page)) == 10


def titles(page):
    return [each.get_attribute("title") for each in page.locator("tr.attempt button.name").all()]


# ---------------------------------------------------------------------- filtering


FILTERS = [
    ("All", "all evaluators", "", ["alpha", "beta", "gamma", "delta", "epsilon"]),
    ("Passed", "all evaluators", "", ["alpha"]),
    ("Did not pass", "all evaluators", "", ["beta", "gamma", "delta", "epsilon"]),
    ("Errors", "all evaluators", "", ["delta", "epsilon"]),
    ("Did not pass", "Equal", "", ["beta", "gamma", "delta", "epsilon"]),
    ("Errors", "Equal", "", ["delta", "epsilon"]),
    ("All", "tone", "", ["alpha", "beta"]),
    ("All", "cites", "", ["beta"]),
    ("All", "all evaluators", "PARIS", ["alpha"]),
    ("All", "all evaluators", "got 'lime'", ["beta"]),
    ("All", "all evaluators", "too slow", ["epsilon"]),
    ("All", "all evaluators", "nothing to cite", ["beta"]),
    ("Passed", "all evaluators", "town", []),
]


def test_attempts_are_found_by_state_evaluator_and_text(visit, report):
    page = visit(report)
    for state, evaluator, text, found in FILTERS:
        page.locator(".outcomes label", has_text=re.compile(rf"^{state} ")).click()
        page.get_by_label("Judged by").select_option(label=evaluator)
        page.get_by_label("Find attempts by text").fill(text)
        assert names(page) == found, (state, evaluator, text)
        said = page.get_by_role("status").inner_text()
        assert said == (f"{len(found)} of 5 attempts" if found else "No attempt fits: change the filter.")


def test_the_states_count_their_attempts(visit, report):
    page = visit(report)
    labels = page.locator(".outcomes label:visible")
    assert [" ".join(text.split()) for text in labels.all_inner_texts()] == [
        "All 5",
        "Did not pass 4",
        "Errors 2",
        "Passed 1",
    ]
    page.get_by_label("Judged by").select_option(label="score")
    assert " ".join(labels.last.inner_text().split()) == "Not judged 4"


# ---------------------------------------------------------------------- one attempt in full


def test_an_attempt_opens_with_all_there_is_to_know(visit, report):
    page = visit(report)
    detail = opened(page, "beta")
    text = detail.inner_text()
    for words in (
        "question beta",
        "score 0.25",
        "expected 'Lima',\ngot 'Lime'",
        "skipped: nothing to cite",
        "1,200",
        "small-2",
        '{"topic": "cities"}',
        "3 s",
        "500 ms",
        "tries",
    ):
        assert words in text
    assert detail.locator("del").all_inner_texts() == ["city "]
    assert detail.locator("ins").all_inner_texts() == ["town ", "very "]


TRACE = Trace(
    agent_name="travel",
    metadata={"session": "a1"},
    turns=[
        Turn(turn_type="user_message", content="To Oslo, please"),
        Turn(
            llm_call=LLMCall(
                model="big-3",
                input_tokens=1200,
                output_tokens=64,
                latency_ms=1320,
                output_text="I will look.",
            )
        ),
        Turn(tool_call=ToolCall("find", {"to": "OSL"}, output=["SK1"] * 100, latency_ms=240)),
        Turn(tool_call=ToolCall("book", {"flight": "SK1"}, success=False, error="no seats left")),
    ],
)


def test_an_attempt_shows_what_the_agent_did_in_order(visit, records):
    report = records.report(records.case("a", records.result("ok", True), trace=TRACE), records.case("b"))
    page = visit(report)
    detail = opened(page, "a")
    assert "travel · big-3 · 4 turns · 1,200 tokens in, 64 out · 1.56 s" in detail.inner_text()
    turns = [" ".join(turn.split()) for turn in detail.locator(".turns li").all_inner_texts()]
    assert turns == [
        "user To Oslo, please",
        "model big-3 1,200 tokens in, 64 out · 1.32 s answered I will look.",
        'tool find 240 ms with {"to": "OSL"} gave, 902 characters',
        'tool book failed with {"flight": "SK1"} no seats left',
    ]
    assert detail.locator(".turns li.failed .name").all_inner_texts() == ["book"]
    folded = detail.locator(".turns details")
    assert not folded.locator("pre").is_visible()
    folded.locator("summary").click()
    assert folded.locator("pre").inner_text().count("SK1") == 100
    assert opened(page, "b").locator(".turns").count() == 0


def test_attempts_are_found_by_the_tools_the_agent_called(visit, records):
    report = records.report(records.case("a", trace=TRACE), records.case("b"))
    page = visit(report)
    page.get_by_label("Find attempts by text").fill("no seats")
    assert names(page) == ["a"]
    page.get_by_label("Find attempts by text").fill("book")
    assert names(page) == ["a"]


def test_long_traces_are_folded_and_what_is_left_out_is_counted(visit, records):
    long = Trace(tool_calls=[ToolCall(f"t{i}", output="y" * 3000) for i in range(150)])
    cases = [records.case(str(i), records.result("ok", i < 40), trace=long) for i in range(41)]
    page = visit(records.report(*cases))
    detail = opened(page, "40")
    assert "150 turns" in detail.inner_text()
    assert not detail.locator(".turns").is_visible()
    detail.get_by_text("turns", exact=True).click()
    assert detail.locator(".turns li").count() == 100
    assert "The first 50 and the last 50 of 150 turns are shown." in detail.inner_text()
    left_out = "150 turns, left out to keep this page small: the report as JSON has them."
    opened(page, "39")
    assert left_out in page.locator("tr.details").first.inner_text()


def test_a_key_that_does_not_apply_is_named_beside_the_results(visit):
    def judge(output):
        return {"polite": True, "sql": Skipped("no SQL here") if output else 1}

    report = Dataset(
        cases=[Case(name="a", inputs=0), Case(name="b", inputs=1)], evaluators=[judge]
    ).evaluate_sync(lambda inputs: inputs, progress=False)
    page = visit(report)
    judged = opened(page, "b").locator(".judgements li").all_inner_texts()
    assert [" ".join(text.split()) for text in judged] == [
        "passed polite",
        "not judged sql skipped: no SQL here",
    ]
    assert [" ".join(cell.split()) for cell in column(page, "score")] == ["1", "\u2013"]


def test_the_keyboard_opens_closes_and_moves(visit, report):
    page = visit(report)
    button = page.get_by_role("button", name="alpha", exact=True)
    button.focus()
    for expanded, rows in (("true", 1), ("false", 0)):
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-expanded") == expanded
        assert page.locator("tr.details").count() == rows
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "beta"


def test_lines_that_differ_are_shown_with_their_words_and_equal_ones_are_folded(visit, report):
    page = visit(report)
    diff = opened(page, "gamma").locator(".diff")
    rows = diff.locator(".row")
    assert diff.locator(".expected .content").all_inner_texts() == [
        "your order A-1 left on 3 May.\n",
        "It will arrive soon.\n",
    ]
    assert diff.locator(".output .content").all_inner_texts() == [
        "your order A-1 left on 4 May.\n",
        "It will arrive late.\n",
    ]
    assert diff.locator("del").all_inner_texts() == ["3 ", "soon"]
    assert diff.locator("ins").all_inner_texts() == ["4 ", "late"]
    before = rows.count()
    diff.get_by_role("button", name="5 equal lines").click()
    assert rows.count() == before + 5
    page.locator(".tabs").get_by_role("button", name="Output", exact=True).click()
    assert page.locator("tr.details .part pre").nth(1).inner_text().startswith("Dear Ada")


def test_expected_and_output_are_told_apart_even_if_they_look_alike(visit, records):
    pairs = {
        "same": ("a", "a", ["Output, reads the same as expected"]),
        "kinds": ("3", 3, ["Expected (text)", "Output (JSON)"]),
        "numbers": (1, 1.0, ["Expected", "Output"]),
        "nothing": (None, None, ["Output"]),
    }
    cases = [
        records.case(name, expected_output=expected, output=output)
        for name, (expected, output, _) in pairs.items()
    ]
    page = visit(records.report(*cases))
    for name, (_, _, titles) in pairs.items():
        page.get_by_role("button", name=name, exact=True).click()
        headings = page.locator("tr.details .values h4").all_inner_texts()
        assert headings == ["Inputs", *titles]
        page.get_by_role("button", name=name, exact=True).click()


def test_failures_show_where_they_happened(visit, report):
    page = visit(report)
    crashed = opened(page, "delta")
    assert "evaluator failed: KeyError: 'answer'" in crashed.inner_text()
    crashed.get_by_text("traceback", exact=True).click()
    assert "line 3" in crashed.locator("details pre").inner_text()
    lost = opened(page, "epsilon")
    assert "Task failed: TimeoutError: too slow" in lost.inner_text()
    assert "not run: the task failed" in lost.inner_text()
    lost.get_by_text("traceback", exact=True).click()
    assert "slow" in lost.locator("details pre").inner_text()


def test_what_was_cut_says_so(visit, records):
    page = visit(
        records.report(records.case("a", output="x" * 5000)), write_options={"max_value_length": 1000}
    )
    assert "Cut: 1,000 of 5,000 characters are shown." in opened(page, "a").inner_text()


def test_an_attempt_is_copied_as_json(visit, report):
    page = visit(report, permissions=["clipboard-read", "clipboard-write"])
    opened(page, "beta").get_by_role("button", name="Copy as JSON").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert (copied["name"], copied["outcome"], copied["output"]) == ("beta", "failed", report.cases[1].output)
    assert copied["metadata"] == {"topic": "cities"}
    assert copied["metrics"] == {"tokens": 1200}
    assert copied["results"][0]["column"] == "Equal"
    assert "position" not in copied


def test_the_address_of_an_attempt_leads_to_it(visit, report):
    page = visit(report, fragment="#case-3")
    assert page.locator("tr.details").count() == 1
    assert page.evaluate("document.activeElement.textContent") == "gamma"
    page.get_by_role("button", name="beta", exact=True).click()
    assert page.evaluate("location.hash") == "#case-2"
    page.locator(".outcomes label", has_text="Passed").click()
    page.evaluate("location.hash = '#case-5'")
    page.locator("#attempt-5.open").wait_for()
    assert "alpha" in names(page), "a filter that hides the attempt is taken back"


# ---------------------------------------------------------------------- numbers

NUMBERS = [
    0.0, 1.0, -1.5, 0.15625, 0.03125, 1.0625, 0.1 + 0.2, 1 / 3, 0.00012345, 0.000012345, -2.5e-9, 999.96, 1000.5,
    1001.5, 123456.789, 9.9999e14, 1e15, 1.5e300, 5e-324, 12, -1234567, 2**60,
]  # fmt: skip
TIMES = [0.0, 4e-7, 2.5e-6, 0.0009994, 0.0009996, 0.25, 0.99949, 0.9996, 1.5, 59.94, 59.96, 60, 61.5, 125, 3599.6, 3600, 4500]  # fmt: skip


def test_numbers_and_times_are_written_as_everywhere_else(visit, records):
    cases = [
        records.case(f"n{i}", records.result("score", value), task_duration=TIMES[i % len(TIMES)])
        for i, value in enumerate(NUMBERS)
    ]
    page = visit(records.report(*cases))
    assert column(page, "score") == [number(value) for value in NUMBERS]
    assert column(page, "duration") == [seconds(case.task_duration) for case in cases]


# ---------------------------------------------------------------------- repeats


def test_repeats_stand_under_their_case_with_its_pass_count(visit, records):
    def attempt(case, repeat, held):
        return records.case(
            f"{case} [{repeat}/3]",
            records.result("ok", held),
            records.result("score", repeat / 4 + (case == "b")),
            source_case_name=case,
        )

    outcomes = {"b": [True, True, True], "a": [True, False, False], "c": [False, False, False]}
    report = records.report(
        *(
            attempt(case, i, held)
            for case, all_held in outcomes.items()
            for i, held in enumerate(all_held, 1)
        ),
        repeat=3,
    )
    page = visit(report)
    cases = page.locator("tr.case")
    assert cases.locator("button.name").all_inner_texts() == ["b", "a", "c"]
    assert cases.locator("td.outcome").all_inner_texts() == ["3/3", "1/3", "0/3"]
    assert cases.locator("td.score").all_inner_texts() == ["1.5", "0.5", "0.5"]
    assert names(page) == ["[1/3]", "[2/3]", "[3/3]"] * 2, "a case that always passed is folded"
    assert page.get_by_role("status").inner_text() == "9 of 9 attempts, 1 case folded"
    page.get_by_role("columnheader", name="Passed").get_by_role("button").click()
    assert cases.locator("button.name").all_inner_texts() == ["c", "a", "b"]
    page.get_by_role("button", name="b", exact=True).click()
    assert len(names(page)) == 9
    assert page.evaluate("document.activeElement.textContent") == "b"
    page.locator(".outcomes label", has_text="Passed").click()
    assert cases.locator("button.name").all_inner_texts() == ["a", "b"], "c has no attempt that passed"
    assert names(page) == ["[1/3]", "[1/3]", "[2/3]", "[3/3]"]
    page.get_by_role("button", name="Fold cases", exact=True).click()
    assert names(page) == []
    page.get_by_role("button", name="Unfold cases").click()
    assert len(names(page)) == 4


# ---------------------------------------------------------------------- ten thousand


@pytest.fixture(scope="module")
def large(records):
    return records.report(
        *(
            records.case(
                f"case {i}", records.result("ok", i % 7 > 0), records.result("score", (i * 7919) % 10_000)
            )
            for i in range(10_000)
        )
    )


def drawn(page):
    return page.locator("tr.attempt").count()


def test_ten_thousand_attempts_keep_the_page_small(visit, large):
    page = visit(large)
    assert page.get_by_role("status").inner_text() == "10,000 of 10,000 attempts"
    assert drawn(page) <= 300
    page.get_by_role("columnheader", name="score").get_by_role("button").click()
    page.locator("#attempts").scroll_into_view_if_needed()
    page.locator("tr.attempt").first.wait_for()
    assert column(page, "score")[:3] == ["0", "1", "2"]
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.get_by_role("cell", name="9,999", exact=True).wait_for()
    assert drawn(page) <= 300
    page.get_by_label("Find attempts by text").fill("case 99")
    assert page.get_by_role("status").inner_text() == "111 of 10,000 attempts"
    assert drawn(page) == 111


def test_an_address_leads_into_the_middle_of_ten_thousand(visit, large):
    page = visit(large, fragment="#case-7001")
    row = page.locator("#attempt-7001")
    assert row.locator("button.name").inner_text() == "case 7000"
    assert 0 <= row.bounding_box()["y"] < 900
    assert drawn(page) <= 300


def test_paper_gets_more_rows_than_the_screen_and_says_how_many(visit, large):
    page = visit(large)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert drawn(page) == 1000
    assert "the first 1,000 rows are printed" in page.get_by_role("status").inner_text()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert drawn(page) <= 300


# ---------------------------------------------------------------------- hostile content

HOSTILE = (
    "<script>window.__pwned=1</script><img src=x onerror='window.__pwned=1'><svg onload=window.__pwned=1>"
    '</script></noscript><!--"><a href="javascript:window.__pwned=1">x</a>'
    "\x1b[31m\u202eevil\u202c\u200b \u2028\x00\x7f"
)
SHOWN = HOSTILE.translate(
    {code: f"\\x{code:02x}" for code in (0, 0x1B, 0x7F)}
    | {code: f"\\u{code:04x}" for code in (0x202E, 0x202C, 0x200B, 0x2028)}
)


def test_hostile_content_runs_nothing_and_is_shown_as_it_is(visit, records):
    case = records.case(
        HOSTILE,
        records.result("Equal", False, HOSTILE, metadata={HOSTILE: HOSTILE}),
        records.result(HOSTILE, HOSTILE),
        inputs=HOSTILE,
        expected_output=f"{HOSTILE}\n1",
        output=f"{HOSTILE}\n2",
        metadata={"__proto__": HOSTILE},
        attributes={HOSTILE: HOSTILE, "__proto__": "p", "json": 1, "column": 2, "length": 3},
        metrics={HOSTILE: 1},
        cluster=HOSTILE,
        skipped=(records.skip(HOSTILE, HOSTILE),),
        evaluator_failures=(records.broken(HOSTILE, HOSTILE, HOSTILE),),
        trace=Trace(
            agent_name=HOSTILE,
            model=HOSTILE,
            metadata={"__proto__": HOSTILE, "text": 1, "json": HOSTILE},
            turns=[
                Turn(turn_type="user_message", content=HOSTILE),
                Turn(llm_call=LLMCall(model=HOSTILE, input_text=HOSTILE, output_text=f"{HOSTILE}\n")),
                Turn(
                    tool_call=ToolCall(
                        HOSTILE,
                        {"__proto__": HOSTILE, "text": 2},
                        output=HOSTILE,
                        success=False,
                        error=HOSTILE,
                    )
                ),
            ],
        ),
    )
    report = records.report(
        case,
        records.failure("lost", HOSTILE, not_run=(HOSTILE,), error_stacktrace=HOSTILE),
        name=HOSTILE,
        dataset_name=HOSTILE,
        incomplete=Incomplete("other", HOSTILE),
        metadata={HOSTILE: HOSTILE},
        analyses=[TableResult(title=HOSTILE, columns=[HOSTILE], rows=[[HOSTILE]], note=HOSTILE)],
        report_evaluator_failures=[records.broken(HOSTILE, HOSTILE, HOSTILE)],
    )
    page = visit(report, permissions=["clipboard-read", "clipboard-write"])
    assert page.locator("tr.attempt button.name").first.inner_text() == SHOWN
    assert SHOWN[:150] in page.locator("h1").inner_text()
    for button in page.locator("tr.attempt button.name").all():
        button.click()
    for each in page.locator("details").all():
        each.evaluate("node => { node.open = true }")
    page.locator(".tabs").get_by_role("button", name="Output", exact=True).click()
    detail = page.locator("tr.details").first
    assert detail.locator("pre").first.inner_text() == SHOWN
    assert detail.locator(".judgements .reason").nth(1).inner_text() == SHOWN
    page.get_by_role("button", name="Copy as JSON").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied["attributes"] == case.attributes
    assert detail.locator(".turns .name").all_inner_texts() == [SHOWN, SHOWN]
    assert detail.locator(".turns .reason").inner_text() == SHOWN
    assert copied["trace"]["turns"][2]["arguments"] == {"__proto__": HOSTILE, "text": 2}
    assert copied["trace"]["turns"][2]["error"] == copied["trace"]["turns"][0]["content"] == HOSTILE
    for select in page.locator("select").all():
        for value in select.locator("option").evaluate_all("nodes => nodes.map(node => node.value)"):
            if select.is_visible():
                select.select_option(value)
    page.wait_for_timeout(50)
    assert page.evaluate("window.__pwned") is None
    assert page.locator("img, a[href^=javascript], iframe, object, embed").count() == 0
    assert page.evaluate("document.scripts.length") == 3


REFUSED = [
    ("document.body.innerHTML = '<b>x</b>'", "requires 'TrustedHTML'"),
    ("document.body.setAttribute('onclick', 'window.__pwned = 1')", "requires 'TrustedScript'"),
    (
        "document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1/x.png' }))",
        "default-src 'none'",
    ),
    ("fetch('http://127.0.0.1/x').catch(() => 0)", "default-src 'none'"),
]


def test_the_browser_itself_refuses_what_the_page_never_does(browser, report, tmp_path):
    context = browser.new_context(offline=True)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.goto(write_html(report, tmp_path / "report.html").as_uri())
    assert said == []
    for attempt, complaint in REFUSED:
        with page.expect_console_message(lambda message, complaint=complaint: complaint in message.text):
            page.evaluate(f"(() => {{ try {{ {attempt} }} catch {{}} }})()")
    page.locator("body").click()
    assert page.evaluate("window.__pwned") is None
    context.close()


def test_letters_and_emoji_that_need_joiners_are_left_alone(visit, records):
    texts = ["👩\u200d💻 ❤\ufe0f", "می\u200cروم", "क्\u200dष", "żółć é", "日本語"]
    page = visit(records.report(*(records.case(text) for text in texts)))
    assert names(page) == texts
    page = visit(records.report(records.case("Pa\u200dris\u200c\ufe0f\u00a0x")))
    assert names(page) == ["Pa\\u200dris\\u200c\\ufe0f\\xa0x"]


# ---------------------------------------------------------------------- any screen, any reader


def test_the_page_never_scrolls_sideways(visit, report, records):
    many = [records.result(f"a_check_with_a_long_name_{i}", i % 2 == 0) for i in range(14)]
    wide = records.report(
        records.case(
            "x" * 300, *many, records.result("label", "y" * 300), inputs="z" * 500, output={"k" * 200: "v"}
        ),
        analyses=[TableResult(title="t" * 200, columns=["c" * 60] * 8, rows=[["w" * 80] * 8])],
        name="n" * 300,
    )
    for each in (report, wide):
        page = visit(each, width=1280)
        for button in page.locator("tr.attempt button.name").all():
            button.click()
        for width in (1280, 800, 390, 320):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.wait_for_function(
                "document.querySelector('tr.attempt')?.getBoundingClientRect().height > 15"
            )


@pytest.mark.parametrize("checks", [3, 14])
def test_the_time_is_in_sight_at_any_width(visit, records, checks):
    results = [records.result(f"check_{i}", True) for i in range(checks)]
    report = records.report(
        records.case(
            "late", *results, records.result("words", 6.7), records.result("tone", "long"), inputs="z" * 99
        )
    )
    page = visit(report, width=1200)
    for width in (1200, 1100, 800):
        page.set_viewport_size({"width": width, "height": 900})
        for cell in ("thead th.duration", "tr.attempt td.duration"):
            page.wait_for_function(  # the table is drawn anew when the width changes
                "([cell, most]) => document.querySelector(cell)?.getBoundingClientRect().right <= most",
                arg=[f".attempts {cell}", width - 16],
            )


def test_a_score_is_not_drawn_under_a_heading_of_a_rate(visit, records):
    rate, score = records.result("ok", True), records.result("words", 6.7)
    head = ".summary thead .drawing"
    both = visit(records.report(*(records.case(name, rate, score) for name in "ab")))
    assert both.locator(head).inner_text().strip() == ""
    assert both.locator(".summary .drawing svg").first.locator("text").all_text_contents() == [
        "0 %",
        "100 %",
    ]
    rates = visit(records.report(*(records.case(name, rate) for name in "ab")))
    assert rates.locator(head).inner_text().split("\n") == ["0 %", "100 %"]
    assert rates.locator(".summary .drawing svg").first.locator("text").count() == 0


@pytest.mark.parametrize(("width", "seen"), [(1100, 4), (1280, 5)])
def test_long_inputs_and_outputs_leave_the_evaluators_in_sight(visit, records, width, seen):
    checks = [records.result(f"check_{i}", True) for i in range(7)]
    long = "where is my parcel " * 20
    page = visit(records.report(records.case(long, *checks, inputs=long, output=long)), width=width)
    ends = [
        box["x"] + box["width"]
        for i in range(7)
        if (box := page.get_by_role("columnheader", name=f"check_{i}").bounding_box())
    ]
    assert sum(end <= width for end in ends) >= seen


def test_on_a_phone_attempts_are_sorted_by_a_menu(visit, report):
    page = visit(report, width=390)
    assert not page.get_by_role("columnheader", name="score").is_visible()
    page.get_by_label("Sort by").select_option(label="score ↓")
    assert names(page)[0] == "gamma"
    page.get_by_label("Sort by").select_option(label="report order")
    assert names(page)[0] == "alpha"


def test_light_and_dark_follow_the_system_until_the_reader_chooses(visit, report):
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = visit(report), visit(report, color_scheme="dark")
    colours = light.evaluate(ground), dark.evaluate(ground)
    assert colours == ("rgb(255, 255, 255)", "rgb(20, 24, 29)")
    button = dark.get_by_role("button", name="Theme: auto")
    button.click()
    assert dark.evaluate(ground) == colours[0]
    # The browser stores the choice in its own time, and a page that is loaded before does not know it yet.
    for _ in range(50):
        dark.reload()
        if dark.evaluate(ground) == colours[0]:
            break
        dark.wait_for_timeout(100)
    assert dark.evaluate(ground) == colours[0], "the choice is kept"
    dark.get_by_role("button", name="Theme: light").click()
    assert dark.evaluate(ground) == colours[1]
    light.emulate_media(media="print", color_scheme="dark")
    assert light.evaluate(ground) == "rgb(255, 255, 255)", "paper is white"


def test_without_a_script_the_numbers_and_what_did_not_pass_are_there(visit, report):
    page = visit(report, java_script_enabled=False)
    text = page.locator("body").inner_text()
    assert "Passed 1 of 5 cases" in text
    assert "Did not pass: 4 of 5." in text
    assert "Equal:\nexpected 'Lima',\ngot 'Lime'" in text, "a reason of several lines, as lines"
    assert not page.locator("#browser").is_visible()
    assert not page.locator("#theme").is_visible()


def test_the_table_tells_assistive_technology_what_it_is(visit, report):
    page = visit(report)
    table = page.get_by_role("table", name="Attempts")
    assert table.get_attribute("aria-rowcount") == "6"
    assert table.get_by_role("row").nth(1).get_by_role("rowheader").inner_text() == "alpha"
    data = embedded_records(report, report.summaries(), limit=None)
    assert table.get_by_role("columnheader").count() == len(data["columns"]) + 5
    assert page.evaluate(
        "[...document.querySelectorAll('button')].every(button => button.textContent.trim())"
    )
    assert page.evaluate(
        "[...document.querySelectorAll('input, select')].every(node => node.labels.length || node.ariaLabel)"
    )
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_a_report_without_attempts_shows_no_table(visit, records):
    page = visit(records.report())
    assert not page.locator("#attempts").is_visible()
    assert "No cases ran: nothing was measured." in page.locator("body").inner_text()


def test_a_link_shows_its_attempt_below_the_head_of_the_table_however_high_that_is(visit):
    words = ("mentions", "explains", "quotes", "avoids")
    dataset = Dataset(
        cases=[Case(name=f"case {number}", inputs=number) for number in range(60)],
        evaluators=[
            as_evaluator(lambda output: output != 30, name=f"{word} the refund policy in the first sentence")
            for word in words
        ],
    )
    page = visit(
        dataset.evaluate_sync(lambda inputs: inputs, progress=False), width=1200, fragment="#case-31"
    )
    head = page.locator("table.attempts thead th").first.bounding_box()
    row = page.locator("button.name", has_text="case 30").bounding_box()
    assert head["height"] > 70, "the names have to wrap for this to mean anything"
    assert row["y"] >= head["y"] + head["height"]


def test_an_attempt_whose_times_were_recorded_has_a_waterfall_in_which_calls_overlap(visit, records):
    def began(milliseconds):
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)

    trace = Trace(
        turns=[
            Turn(turn_type="user_message", content="To Oslo", timestamp=began(0)),
            Turn(llm_call=LLMCall(model="big-3", latency_ms=400, timestamp=began(0))),
            Turn(tool_call=ToolCall("flights", latency_ms=500, timestamp=began(400))),
            Turn(tool_call=ToolCall("hotels", latency_ms=200, timestamp=began(450), error="closed")),
        ]
    )
    page = visit(
        records.report(
            records.case("a", trace=trace), records.case("b", trace=Trace(tool_calls=[ToolCall("t")]))
        )
    )
    detail = opened(page, "a")
    rows = [" ".join(row.split()) for row in detail.locator(".steps tbody tr").all_inner_texts()]
    assert rows[:2] == ["user To Oslo at 0 µs 900 ms", "model big-3 at 0 µs 400 ms ? ?"]
    flights, hotels = (detail.locator(".steps rect.tool").nth(at).bounding_box() for at in (0, 1))
    assert flights["x"] < hotels["x"] < hotels["x"] + hotels["width"] < flights["x"] + flights["width"]
    (failed,) = detail.locator(".steps tr.failed").all()
    assert failed.bounding_box()["height"] == detail.locator(".steps tbody tr").first.bounding_box()["height"]
    untimed = opened(page, "b")
    assert untimed.locator(".steps").count() == 0
    assert "Times were not recorded" in untimed.inner_text()
