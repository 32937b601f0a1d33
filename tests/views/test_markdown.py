"""A report as Markdown for a pull request, where hostile text does nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from calipers import ToolCall, Trace
from calipers.report import Incomplete
from calipers.report.analysis import ScalarResult
from calipers.report.summary import tally
from calipers.scoring.scoring import BlockedLoop
from calipers.views.markdown import LIMIT, code, report_markdown
from calipers.views.text import visible

TEXT = st.text(st.characters(exclude_categories=()))
PARSER = MarkdownIt("commonmark").enable("table")
HOSTILE = [
    "@octocat please look",
    "closes #1 and org/repo#2, GH-3",
    "<img src=x onerror=alert(1)>",
    "</details><script>alert(1)</script>",
    "<!-- hidden",
    "![](https://evil.example/pixel.png)",
    "[click](javascript:alert(1))",
    "https://evil.example www.evil.example a@evil.example",
    "a | b \\| c \\\\| d",
    "`code` ``more`` ```fence```",
    "`" * 50 + " @octocat",
    "``` \n@octocat",
    "a\n\n# heading\n\n- @octocat",
    "**bold** _it_ ~~gone~~ :tada: $x^2$",
    "&lt;b&gt; &#64;octocat",
    "ends with a backslash \\",
    "\\`@octocat\\`",
    " leading and trailing ",
    "`",
    "|",
    "",
    "   ",
    "\u202egnp.exe",
    "zalgo" + "\u0301" * 300,
]


def leaves(text):
    """Every piece of the document as a reader of Markdown takes it: (type, content)."""
    for token in PARSER.parse(text):
        if token.type in {"fence", "code_block", "html_block"}:
            yield token.type, token.content
        for child in token.children or ():
            yield child.type, child.content


def rows(text):
    """The rows of the table as (type, content) lists, one list per cell."""
    found, cells = [], []
    for token in PARSER.parse(text):
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline" and token.level > 3:
            cells.append([(child.type, child.content) for child in token.children])
        elif token.type == "tr_close":
            found.append(cells)
    return found


GOLDEN = """\
## `answer` on `capitals`

**Passed 1 of 3 cases · 33.3 % [6.1, 79.2] · 95 % Wilson interval**

> **Warning:** `1 of 3 tasks failed and counts as not passed: TimeoutError (1)`
>

| Evaluator | Kind | Result | 95 % interval | n | task failed |
| --- | --- | ---: | --- | ---: | ---: |
| `right` | assertion | 33.3 % | [6.1, 79.2] | 3 | 1 |
| `right`, graded | score | 0.600 | [0.132, 0.937] | 2 |  |
| `sure` | score | 0.5 |  | 1 | 0 |
| `route` | label | `south` 50.0 %, `north` 50.0 % |  | 2 | 0 |

<details>
<summary>Did not pass: 2 of 3 attempts</summary>

- **`chile`** (250 ms)
  - `after 2 tries`: `TimeoutError: slow`
  - inputs `'question chile'`
- **`peru`** (250 ms)
  - `right`: `expected 'Lima', got 'Paris'`
  - inputs `'question peru'`
  - expected `'Lima'`
  - got `'answer peru'`

</details>

<details>
<summary>Analyses: 1</summary>

```text
cost: 1.5 $
```

</details>

```text
       0 %                                100 %
right    ├──────────●─────────────────┤
```

```text
3 cases · 1.5 s · seed 7
commit: '4f2a91c'
Task time  p50 250 ms · longest 250 ms · p90 needs 36 cases · (finished tasks)
Metrics    tokens 1,200 · (means per case)
```

<sub>[low, high] is a 95 % interval (Wilson; Wilson with an effective sample size): with fresh cases of the same kind, 95 % of such intervals would contain the true value. Those of scores are approximate: they go by the spread that was seen.</sub>

<sub>A graded row is the mean of the scores behind a verdict, over the n attempts that have one; a failed task or evaluator gives none.</sub>
"""


def golden_report(records):
    return records.report(
        records.case(
            "france",
            records.result("right", True, score=1.0),
            records.result("sure", 0.5),
            records.result("route", "south"),
            metrics={"tokens": 1200},
        ),
        records.case(
            "peru",
            records.result("right", False, "expected 'Lima', got 'Paris'", score=0.2),
            records.result("route", "north"),
            expected_output="Lima",
        ),
        records.failure("chile", "TimeoutError: slow", tries=2, not_run=("right",)),
        analyses=[ScalarResult(title="cost", value=1.5, unit="$")],
        metadata={"commit": "4f2a91c"},
    )


def test_a_report_as_a_comment(records):
    report = golden_report(records)
    assert report_markdown(report) == GOLDEN
    assert report_markdown(report) == report_markdown(report)


def test_the_tools_an_agent_called_are_named(records):
    trace = Trace(tool_calls=[ToolCall("find", {"to": "OSL"}), ToolCall("book", success=False, error="`no`")])
    report = records.report(records.case("a", records.result("ok", False), trace=trace))
    assert "  - called ``find(to='OSL'); book() failed: `no` ``" in report_markdown(report).replace(
        "`` ", "``"
    )


def test_a_report_of_which_all_passed_is_short(records):
    text = report_markdown(records.report(records.case("a", records.result("x", True))))
    assert "**Passed 1 of 1 case" in text
    assert "<details>" not in text
    assert "Warning" not in text


def test_what_is_wrong_with_a_run_stands_at_its_top(records):
    report = records.report(
        records.case("a", evaluator_failures=(records.broken("Judge", "E: x"),)),
        incomplete=Incomplete("interrupted", "interrupted by Ctrl-C"),
        report_evaluator_failures=[records.broken("Curve", "E: flat")],
        blocked={"Slow": BlockedLoop(count=2, longest=0.5)},
    )
    text = report_markdown(report)
    for said in (
        "> **Warning:** `INCOMPLETE: interrupted by Ctrl-C`",
        "> **Warning:** `1 evaluator failure counts as not passed: Judge (1)`",
        "> **Warning:** `Report evaluators that failed: Curve`",
        "Note: evaluator 'Slow' blocked the event loop 2 times",
        "Report evaluator 'Curve' failed: E: flat",
    ):
        assert said in text


def test_an_empty_report_says_that_nothing_was_measured(records):
    assert "> **Warning:** `No cases ran: nothing was measured.`" in report_markdown(records.report())


def test_repeats_are_told_apart_from_cases(records):
    cases = [
        records.case(f"{name} [{i}/2]", records.result("x", i == 1), source_case_name=name)
        for name in "abc"
        for i in (1, 2)
    ]
    text = report_markdown(records.report(*cases, repeat=2))
    assert "**Passed 3 of 6 attempts at 3 cases" in text
    assert "- `pass@2 100.0 %" in text


def test_attempts_that_are_not_kept_are_counted(records):
    cases = [records.case(str(n), records.result("x", n == 0)) for n in range(5)]
    text = report_markdown(records.report(*cases[1:3], totals=tally(cases, []).totals()))
    assert "**Passed 1 of 5 cases" in text
    assert "<summary>Did not pass: 4 of 5 attempts</summary>" in text
    assert "\n- and 2 more that the report does not keep\n\n</details>\n" in text


def test_another_confidence_gives_other_intervals(records):
    text = report_markdown(records.report(records.case("a", records.result("x", True))), confidence=0.5)
    assert "| 50 % interval |" in text


@pytest.mark.parametrize(
    ("options", "message"), [({"limit": 100}, "at least"), ({"confidence": 2}, "confidence")]
)
def test_wrong_options_are_refused(records, options, message):
    with pytest.raises(ValueError, match=message):
        report_markdown(records.report(), **options)


# ---------------------------------------------------------------------- hostile text


def everywhere(records, text):
    """A report with the text in every place that others can fill."""
    return records.report(
        records.case(
            text,
            records.result(text, False, text),
            records.result(f"{text}l", text),
            inputs=text,
            output=[text],
            expected_output=text,
            metrics={text: 1},
            trace=Trace(tool_calls=[ToolCall("t", {text: text}, success=False, error=text)]),
            skipped=(records.skip(f"{text}s", text),),
        ),
        records.case(f"{text}2", evaluator_failures=(records.broken(text, text),)),
        records.failure(f"{text}3", text, error_type=text, not_run=(text,)),
        name=text,
        dataset_name=text,
        incomplete=Incomplete("other", text),
        metadata={text: text},
        analyses=[ScalarResult(title=text, value=1.0, unit=text, note=text)],
        report_evaluator_failures=[records.broken(text, text)],
        blocked={text: BlockedLoop(count=1, longest=0.1)},
    )


def outside_code(document):
    return [leaf for leaf in leaves(document) if leaf[0] not in {"code_inline", "fence"}]


def check_only_our_words_are_outside_code(records, text):
    """The text changes what stands in code, and nothing else of the document."""
    if visible(text).strip():  # for what cannot be seen, our own words stand
        # A reason of several lines is a block of its own, so the tame text has several, too.
        other = "word\nword" if "\n" in text.strip("\n") else "word"
        hostile, tame = (report_markdown(everywhere(records, each)) for each in (text, other))
        assert outside_code(hostile) == outside_code(tame)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_in_code(records, text):
    check_only_our_words_are_outside_code(records, text)


@given(text=TEXT)
def test_whatever_the_text_it_stays_in_code(records, text):
    check_only_our_words_are_outside_code(records, text)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_table_keeps_its_columns(records, text):
    report = records.report(records.case("a", records.result(text, text), records.result(f"{text}s", 1.0)))
    found = rows(report_markdown(report))
    assert [len(row) for row in found] == [5, 5, 5]
    assert found[0][0] == [("text", "Evaluator")]


@given(text=TEXT)
def test_a_code_span_holds_the_text_as_it_can_be_seen(text):
    span = code(text)
    (inline,) = PARSER.parseInline(f"before {span} after")
    shown = visible(text)
    if not shown.strip():
        assert re.fullmatch(r"\(empty\)|\(\d+ spaces?\)", span)
    else:
        assert [child.type for child in inline.children] == ["text", "code_inline", "text"]
        assert inline.children[1].content == (shown if "`" * 10 not in shown else shown.replace("`", "\\x60"))


@given(text=TEXT)
def test_in_a_table_a_code_span_has_no_vertical_bar(text):
    assert "|" not in code(text, table=True)


# ---------------------------------------------------------------------- room


def large(records, failed, evaluators=1, text="no"):
    return records.report(
        *(
            records.case(
                f"case {n}", *(records.result(f"x{i}", False, text) for i in range(evaluators)), output=text
            )
            for n in range(failed)
        )
    )


@pytest.mark.parametrize(
    ("failed", "evaluators", "text"),
    [(2_000, 1, "no"), (300, 3, "x" * 10_000), (2, 3_000, "no"), (300, 3, "e\u0301\u0301\u0301" * 5_000)],
    ids=["cases", "long text", "evaluators", "marks"],
)
def test_a_comment_stays_within_its_limit_and_says_what_was_left_out(records, failed, evaluators, text):
    report = large(records, failed, evaluators, text)
    for limit in (LIMIT, 20_000):
        found = report_markdown(report, limit=limit)
        assert len(found) <= limit
        assert len(found) > limit / 3, "and makes use of it"
        last = found.splitlines()[-1]
        assert last.startswith(f"Left out to stay within {limit:,} characters: ")
        listed = len(re.findall(r"^- \*\*`case", found, re.MULTILINE))
        left = re.search(r"([\d,]+) attempts? that did not pass", last)
        assert listed + int(left[1].replace(",", "") if left else 0) == failed
        shown = len(rows(found)) - 1
        gone = re.search(r"([\d,]+) evaluators?", last)
        assert shown + int(gone[1].replace(",", "") if gone else 0) == evaluators
        assert found.count("<details>") == found.count("</details>")


def test_analyses_that_are_too_long_are_left_out_and_named(records):
    many = [ScalarResult(title=f"number {n}", value=1.0) for n in range(3_000)]
    text = report_markdown(records.report(records.case("a", records.result("x", True)), analyses=many))
    assert len(text) <= LIMIT
    assert text.endswith("Left out to stay within 65,536 characters: the analyses.\n")


def test_the_top_and_the_bottom_are_bounded_whatever_they_hold(records):
    wide = "e\u0301\u0301\u0301" * 1_000
    report = everywhere(records, wide)
    report.metadata = {f"{wide}{n}": wide for n in range(50)}
    report.cases[0].metrics = {f"{wide}{n}": 1 for n in range(500)}
    text = report_markdown(report, limit=20_000)
    assert len(text) <= 20_000
    assert "more lines" in text


def test_nothing_is_said_to_be_left_out_when_nothing_is(records):
    assert "Left out to stay" not in report_markdown(golden_report(records))


def test_a_reason_of_several_lines_is_a_block_of_its_item(records):
    script = "1 of 2 calls\n~ book(city='Paris')\n    city: expected 'Rome'"
    report = records.report(records.case("a", records.result("calls", False, script)))
    text = report_markdown(report)
    assert (
        "  - `calls`:\n"
        "    ```text\n"
        "    1 of 2 calls\n"
        "    ~ book(city='Paris')\n"
        "        city: expected 'Rome'\n"
        "    ```\n"
        "  - inputs `'question a'`\n"
    ) in text
    assert next(token.level for token in PARSER.parse(text) if token.type == "fence") > 0, "within the list"


def test_a_long_reason_of_many_lines_is_cut_and_says_so(records):
    report = records.report(records.case("a", records.result("calls", False, "\n".join("x" * 50))))
    assert "    x\n    … (31 more lines)\n    ```\n" in report_markdown(report)


@pytest.mark.parametrize(
    "hostile",
    [
        "```\n@octocat",
        "x\n" + "`" * 30 + "\n@octocat",
        "x\n~~~\n</details>\n@octocat",
        "\n\n- @octocat\n\n# no",
    ],
)
def test_no_line_of_a_reason_ends_its_block(records, hostile):
    report = records.report(records.case("a", records.result("calls", False, f"first\n{hostile}\nlast")))
    blocks = [content for kind, content in leaves(report_markdown(report)) if kind == "fence"]
    assert "@octocat" in blocks[0]
    assert "last" in blocks[0]
    assert not any("octocat" in content for _, content in outside_code(report_markdown(report)))


def test_repeats_that_failed_in_the_same_way_are_one_item(records):
    cases = [
        records.case(
            f"a [{i}/3]", records.result("x", False, "no"), source_case_name="a", inputs="q", output="w"
        )
        for i in (1, 2, 3)
    ]
    text = report_markdown(records.report(*cases, repeat=3))
    assert text.count("`no`") == 1
    assert "- **`a [1-3/3]`** (3 attempts)\n" in text
    assert "<summary>Did not pass: 3 of 3 attempts</summary>" in text


def test_attempts_that_did_not_fit_are_counted_one_by_one_also_where_they_are_alike(records):
    cases = [
        records.case(
            f"{case} [{i}/2]",
            records.result("x", False, "no " * 300),
            source_case_name=str(case),
            inputs="q " * 400,
            output="w " * 400,
        )
        for case in range(40)
        for i in (1, 2)
    ]
    text = report_markdown(records.report(*cases, repeat=2), limit=20_000)
    listed = text.count("(2 attempts)")
    assert 0 < listed < 40
    assert f"{80 - 2 * listed} attempts that did not pass." in text


def test_evaluators_that_gave_no_result_are_warned_of(records):
    cases = [
        records.case(name, records.result("x", True), skipped=(records.skip("Path", "no `trace`"),))
        for name in "ab"
    ]
    assert "> **Warning:** `` Path: skipped in all 2 attempts: no `trace` ``" in report_markdown(
        records.report(*cases)
    )


def test_the_intervals_of_rates_are_drawn_in_a_block_and_only_some_of_many(records):
    many = [records.result(f"e{number:02}", number % 2 == 0) for number in range(40)]
    shown = report_markdown(records.report(records.case("a", *many), records.case("b", *many)))
    drawn = [line for line in shown.splitlines() if "●" in line]
    assert len(drawn) == 30
    assert len({line.index("●") for line in drawn}) == 2
    assert "●" not in report_markdown(records.report(records.case("a", records.result("grade", 0.5))))
