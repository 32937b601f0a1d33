"""The pass rate of each tag, as the views show it."""

from calipers.views.markdown import report_markdown
from calipers.views.slices import shown_slices
from calipers.views.terminal import report_text


def tagged(records, *cases):
    return records.report(
        *(
            records.case(f"c{i}", records.result("x", passed), tags=tags)
            for i, (passed, *tags) in enumerate(cases)
        )
    )


def test_each_tag_has_a_line_with_its_interval_and_the_number_of_its_cases(records):
    report = tagged(records, (True, "de", "hard"), (False, "de"), (True, "de"), (True,))
    lines = report_text(report, width=80).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Tag "))
    assert lines[at : at + 3] == [
        "Tag    Passed  [95 % interval]  0 %      100 %  cases",
        "de     66.7 %  [20.8, 93.9]       ├──────●───┤      3",
        "hard  100.0 %  [20.7, 100.0]      ├──────────●      1",
    ]


def test_a_report_without_tags_or_without_assertions_has_no_table(records):
    assert "Tag " not in report_text(tagged(records, (True,)))
    report = records.report(records.case("a", records.result("size", 3), tags=("de",)))
    assert "Tag " not in report_text(report)


def test_of_many_tags_those_with_the_most_cases_are_shown_and_the_others_counted(records):
    report = tagged(records, *((True, f"t{i}", "common") for i in range(20)))
    found = shown_slices(report, confidence=0.95)
    assert found.slices[0].tag == "common"
    assert (len(found.slices), found.more) == (12, 9)
    for text in (report_text(report), report_markdown(report)):
        assert "… and 9 more tags with fewer attempts, which the JSON report has" in text


def test_markdown_has_a_table_in_which_a_tag_is_no_markup(records):
    report = tagged(records, (True, "a|b <b>"), (False, "a|b <b>"))
    assert r"| `a\x7cb <b>` | 50.0 % | [9.5, 90.5] | 2 |" in report_markdown(report)
