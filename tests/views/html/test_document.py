import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset, Report, ToolCall, Trace
from calipers.data.record import Failure
from calipers.errors import InvalidOptionError
from calipers.report import Incomplete
from calipers.report.analysis import (
    Aggregate,
    CalibrationCurve,
    ConfusionMatrix,
    PrecisionRecall,
    RocCurve,
    ScalarResult,
    TableResult,
)
from calipers.report.passport import Standing
from calipers.scoring.scoring import BlockedLoop
from calipers.stats import CalibrationBin, Interval, PrecisionRecallPoint, RocPoint, wilson
from calipers.views.html import report_html, write_html
from calipers.views.html.document import _SCRIPTS
from calipers.views.html.page_files import page_file, style_sheet
from calipers.views.terminal import report_text

PAGE = files("calipers.views.html").joinpath("page")


class Reader(HTMLParser):
    """What a browser would find in a page, as far as our laws speak of it."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.scripts, self.words, self.inside = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if self.inside and self.inside[-1] in {"script", "style"}:
            self.scripts.append((self.inside[-1], data))
        else:
            self.words.append(data)

    @property
    def classes(self):
        return {name for key, value in self.attributes if key == "class" for name in value.split()}

    @property
    def text(self):
        return re.sub(r"\s+", " ", "".join(self.words))

    @property
    def data(self):
        return json.loads(next(data for tag, data in self.scripts if data.startswith('{"columns"')))


def full_report(records, text="plain"):
    """A report with everything in it that a report can hold, and `text` wherever a text may stand."""
    interval = Interval(0.1, 0.3, 0.95, "bca")
    analyses = [
        ConfusionMatrix(
            title=text,
            note=text,
            class_labels=[text, "b"],
            matrix=[[2, 1], [0, 3]],
            unanswered=[1, 0],
            accuracy=5 / 7,
            accuracy_interval=wilson(5, 7),
            n=7,
        ),
        ConfusionMatrix(
            title=text,
            class_labels=[f"{text}{i}" for i in range(30)],
            matrix=[[int(j == (i + 1) % 30) for j in range(30)] for i in range(30)],
            unanswered=[0] * 30,
            accuracy=0.0,
            n=30,
        ),
        PrecisionRecall(
            title=text,
            points=[PrecisionRecallPoint(0.5, 1.0, 0.5), PrecisionRecallPoint(0.1, 0.5, 1.0)],
            average_precision=0.75,
            n_positive=2,
            n_negative=2,
        ),
        RocCurve(
            title=text,
            points=[RocPoint(None, 0, 0), RocPoint(0.3, 0.5, 1), RocPoint(0, 1, 1)],
            auc=0.75,
            n_positive=2,
            n_negative=2,
        ),
        CalibrationCurve(
            title=text,
            bins=[CalibrationBin(0, 0.5, 4, 0.3, 0.25, wilson(1, 4))],
            brier=0.2,
            brier_interval=interval,
            ece=None,
            n_positive=1,
            n_negative=3,
        ),
        ScalarResult(title=text, value=0.2, unit=text, interval=interval),
        ScalarResult(title=text, value=None, note=text),
        TableResult(title=text, columns=[text, "n"], rows=[[text, 1], [None, True]]),
        Aggregate(title=text, data={text: text, "n": 4.25}),
        Aggregate(title=text, data=[text]),
    ]
    return records.report(
        records.case(
            text,
            records.result("ok", False, text),
            records.result(f"{text} ", 0.5),
            records.result("label", text),
            inputs=text,
            output=text,
            expected_output="x",
            metadata={text: text},
            attributes={text: text},
            metrics={text: 1},
            skipped=(records.skip(text, text),),
            evaluator_failures=(records.broken("judge", text, text),),
            teardown_failure=Failure(error_type="E", error_message=text, error_stacktrace=text),
            trace=Trace(agent_name=text, tool_calls=[ToolCall(text, {text: text}, output=text, error=text)]),
        ),
        records.case("fine", records.result("ok", True, score=0.9), records.result("label", "another")),
        records.failure("lost", text, error_stacktrace=text, not_run=("ok",)),
        name=text,
        dataset_name=text,
        metadata={text: text},
        incomplete=Incomplete("other", text),
        unfinished=2,
        started_at=text,
        analyses=analyses,
        report_evaluator_failures=[records.broken(text, text, text)],
        blocked={text: BlockedLoop(2, 0.5)},
    )


# ---------------------------------------------------------------------- what it says


@pytest.mark.parametrize("repeat", [1, 3])
def test_a_page_says_what_the_terminal_says(records, repeat):
    report = full_report(records)
    if repeat > 1:
        for number, record in enumerate([*report.cases, *report.failures], 1):
            record.source_case_name, record.name = "a", f"a [{number}/3]"
        report.repeat = repeat
    shown = Reader(report_html(report)).text
    said = report_text(report, width=1000, include_cases=False)
    for line in said.splitlines():
        if re.match(
            r"Evaluator |expected|threshold|bin|mistaken|… and|plain  |\s*(plain|n): |\['plain'\]", line
        ):
            continue  # heads of tables and pairs of names and values, which the page lays out in its own way
        for phrase in re.split(r"\s{2,}|[├─●┤]+", line.strip()):
            assert re.sub(r"\s+", " ", phrase) in shown, line
    assert f"Passed 1 of 3 {'attempts at 1 case' if repeat > 1 else 'cases'}" in shown


def test_the_whole_of_a_small_page(records):
    report = records.report(
        records.case("a", records.result("EqualsExpected", True), records.result("tone", "warm")),
        records.case("b", records.result("EqualsExpected", False, "no"), records.result("tone", "cold")),
        records.failure("c", not_run=("EqualsExpected", "tone")),
        metadata={"commit": "4f2a91c"},
        started_at="2026-01-02T03:04:05Z",
    )
    shown = Reader(report_html(report)).text
    assert (
        " answer on capitals 3 cases · 1.5 s · seed 7 · 2026-01-02 03:04 UTCcommit4f2a91c"
        "1 of 3 tasks failed and counts as not passed: ValueError (1)"
    ).replace(" ", "") in shown.replace(" ", "")
    assert "Passed 1 of 3 cases33.3 % [6.1, 79.2]95 % Wilson interval" in shown
    assert "EqualsExpectedassertion33.3 %[6.1, 79.2]31" in shown, "over three, of which one task failed"
    assert "tonelabelwarm 50.0 %, cold 50.0 %21" in shown
    assert "Did not pass: 2 of 3." in shown
    assert "cValueError: boombEqualsExpected: no" in shown


def test_a_report_that_keeps_only_failures_counts_all_and_says_what_it_keeps():
    dataset = Dataset(
        cases=[Case(inputs=i) for i in range(50)], evaluators=[lambda output: output % 10 > 0, score]
    )
    whole = dataset.evaluate_sync(lambda inputs: inputs, name="task", progress=False)
    some = dataset.evaluate_sync(lambda inputs: inputs, name="task", progress=False, keep="failed")
    shown = Reader(report_html(some))
    assert "Passed 45 of 50 cases" in shown.text
    assert "The report keeps 5 of 50 attempts; the numbers above count all." in shown.text
    assert "Did not pass: 5 of 50." in shown.text
    assert len(shown.data["attempts"]) == 5
    assert "spread" not in shown.classes, "a histogram of some scores would mislead"
    page = Reader(report_html(whole))
    assert "The report keeps" not in page.text
    assert "spread" in page.classes


def score(output):
    return output / 50


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (Report(name="r", cases=[]), "No cases ran: nothing was measured."),
        ("failures", "No task finished: nothing was measured."),
        ("scores", "No pass rate: nothing was asserted."),
    ],
    ids=["nothing", "failures", "scores"],
)
def test_a_report_that_measured_little_says_so(records, report, words):
    if report == "failures":
        report = records.report(records.failure("a"))
    elif report == "scores":
        report = records.report(records.case("a", records.result("s", 0.5)))
    reader = Reader(report_html(report))
    assert words in reader.text
    assert "Pass rate" not in reader.text


def test_a_title_of_ones_own_leaves_the_name_of_the_run_in_sight(records):
    reader = Reader(report_html(records.report(records.case("a")), title="Tuesday <night>"))
    assert reader.text.count("Tuesday <night>") == 2
    assert "answer on capitals" in reader.text


def test_the_confidence_is_that_of_the_intervals(records):
    report = records.report(records.case("a", records.result("ok", True)))
    assert "90 % Wilson interval" in Reader(report_html(report, confidence=0.9)).text
    with pytest.raises(ValueError, match=r"0\.95 for 95%"):
        report_html(report, confidence=95)


@pytest.mark.parametrize("limit", [0, -5])
def test_a_limit_below_one_is_refused(records, limit):
    with pytest.raises(InvalidOptionError, match=f"max_value_length must be a whole number from 1.*{limit}"):
        report_html(records.report(), max_value_length=limit)


def test_without_a_limit_values_are_whole_and_by_default_they_are_cut(records):
    report = records.report(records.case("a", output="x" * 30_000))
    assert Reader(report_html(report)).data["attempts"][0]["output"]["length"] == 30_000
    whole = Reader(report_html(report, max_value_length=None)).data["attempts"][0]["output"]
    assert whole == {"text": "x" * 30_000}


# ---------------------------------------------------------------------- what it cannot do

TEXTS = st.text(
    st.characters() | st.sampled_from("<>&\"'=/`\x00\x1b\u202e\u2028"), min_size=1, max_size=20
).filter(lambda text: text not in {"ok", "label", "judge", "b", "n"})
"""Any text but the names that `full_report` has beside it: where two are one, there is less to show."""
PAYLOADS = [
    "<script>window.x=1</script>",
    "</script><script>1</script>",
    "</style><img src=x onerror=1>",
    "</noscript></table></title><svg onload=1>",
    "<!--",
    '"><a href="javascript:1">',
    "' onmouseover='1",
    "$data ${title} {{x}}",
    "</textarea><iframe srcdoc=1>",
]


@settings(max_examples=min(40, settings().max_examples))
@given(TEXTS | st.sampled_from(PAYLOADS))
def test_no_text_of_a_report_becomes_markup(records, text):
    plain, hostile = (
        Reader(report_html(full_report(records))),
        Reader(report_html(full_report(records, text))),
    )
    assert hostile.tags == plain.tags, "the same elements, in the same order"
    assert [name for name, _ in hostile.attributes] == [name for name, _ in plain.attributes]
    assert [name for name, _ in plain.attributes if name.startswith("on") or name in {"src", "style"}] == []
    links = [value for name, value in hostile.attributes if name == "href"]
    assert all(re.fullmatch(r"#(attempts|case-\d+|find-g\d+)", link) for link in links)
    assert len(hostile.scripts) == 4, "one style, the theme, the data and the script"
    assert hostile.data["attempts"][0]["name"] == text.encode("utf-8", "backslashreplace").decode()


def test_the_policy_allows_one_style_and_two_scripts_by_their_hashes_and_nothing_else(records):
    reader = Reader(report_html(full_report(records)))
    policy = next(value for name, value in reader.attributes if name == "content" and "default-src" in value)

    def hashed(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    styles = [hashed(text) for tag, text in reader.scripts if tag == "style"]
    scripts = [
        hashed(text) for tag, text in reader.scripts if tag == "script" and text.startswith('"use strict"')
    ]
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src {styles[0]}",
        f"script-src {' '.join(scripts)}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    assert (len(styles), len(scripts)) == (1, 2)


def test_the_scripts_make_no_markup_run_no_text_and_name_no_address():
    sources = {name: PAGE.joinpath(name).read_text(encoding="utf-8") for name in (*_SCRIPTS, "theme.js")}
    found = {
        (name, word)
        for name, source in sources.items()
        for word in (
            "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "DOMParser",
            "http", "fetch", "import", "XMLHttp", "href=", "createContextual", "srcdoc",
        )
        if word in source
    }  # fmt: skip
    assert found == set()
    style = style_sheet()
    assert not re.search(r"url\(|@import|@font-face|expression", style)


def test_the_scripts_can_lose_their_comments_and_stay_small(records):
    for name in (*_SCRIPTS, "theme.js"):
        for line in PAGE.joinpath(name).read_text(encoding="utf-8").splitlines():
            assert line.count("`") % 2 == 0, f"{name}: a template over several lines would be changed: {line}"
    scripts = [text for tag, text in Reader(report_html(records.report())).scripts if "use strict" in text]
    assert sum(len(text.encode()) for text in scripts) < 50_000
    assert not re.search(r"^\s*//", "\n".join(scripts), re.MULTILINE)


# ---------------------------------------------------------------------- how it looks


def palettes():
    """The colours of each theme: those that the report shares with the viewer, and its grounds."""

    def colours(name, with_colour):
        blocks = re.findall(rf"\{{[^{{}}]*--{with_colour}: #[^{{}}]*\}}", page_file(name))
        return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", block)) for block in blocks]

    shared, (*grounds, paper) = colours("looks.css", "page"), colours("report.css", "pass-ground")
    return [*(one | other for one, other in zip(shared, grounds, strict=True)), paper]


def contrast(one, other):
    """The contrast of two colours, by the Web Content Accessibility Guidelines."""

    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        shares = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted([luminance(one), luminance(other)], reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_text_can_be_read_on_every_ground_in_every_theme():
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    found = palettes()
    assert len(found) == 4, "light, dark by choice, dark by the system, paper"
    assert found[1] == found[2], "dark is dark"
    for palette in found:
        for tone in ("text", "quiet", "pass", "fail", "warn", "accent"):
            for ground in ("page", "raised"):
                assert contrast(palette[tone], palette[ground]) >= 4.5, (tone, ground, palette)
        for tone in ("pass", "fail", "warn", "text"):
            for ground in ("pass", "fail", "warn"):
                if tone in {ground, "text"}:
                    assert contrast(palette[tone], palette[f"{ground}-ground"]) >= 4.5, (
                        tone,
                        ground,
                        palette,
                    )


# ---------------------------------------------------------------------- the file


def test_a_file_is_written_whole_and_alone(records, tmp_path):
    report = full_report(records, "é \u2028")
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    assert write_html(report, str(path), title="T") == path
    content = path.read_bytes()
    assert content.decode("utf-8") == report_html(report, title="T")
    assert content.endswith(b"</html>\n")
    assert b"\r" not in content
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_is_missing_is_made_and_one_in_the_way_is_refused(records, tmp_path):
    report = records.report(records.case("a"))
    path = write_html(report, tmp_path / "new" / "report.html")
    assert path.read_text(encoding="utf-8") == report_html(report)
    with pytest.raises(InvalidOptionError, match="is a folder"):
        write_html(report, tmp_path / "new")
    assert [file.name for file in tmp_path.rglob("*")] == ["new", "report.html"]


def test_a_report_that_was_stored_and_read_back_gives_the_same_page(records):
    report = full_report(records)
    assert report_html(Report.from_dict(json.loads(json.dumps(report.to_dict())))) == report_html(report)


def test_evaluators_that_gave_no_result_are_named_with_the_reason(records):
    cases = [
        records.case(name, records.result("ok", True), skipped=(records.skip("Path", "no <trace>"),))
        for name in "ab"
    ]
    assert "Path: skipped in all 2 attempts: no <trace>" in Reader(report_html(records.report(*cases))).text


def test_a_graded_row_says_how_many_it_is_over_and_is_left_out_where_it_says_no_more(records):
    def page(*scores):
        cases = [records.case(str(n), records.result("ok", n > 0, score=s)) for n, s in enumerate(scores)]
        return Reader(report_html(records.report(*cases, records.failure("lost", not_run=("ok",))))).text

    graded = page(0.0, 0.5, 1.0)
    assert "ok, gradedscore0.500[0.125, 0.875]013" in graded, "0 and 1 are the ends of the drawing"
    assert "over the n attempts that have one; a failed task or evaluator gives none." in graded
    assert "graded" not in page(0.0, 1.0, 1.0).partition("Did not pass")[0]


def test_without_a_script_reasons_have_their_lines_and_equal_attempts_are_listed_once(records):
    cases = [
        records.case(
            f"a [{i}/2]", records.result("calls", False, "1 of 2\n<b>"), source_case_name="a", output="w"
        )
        for i in (1, 2)
    ]
    page = report_html(records.report(*cases, repeat=2))
    assert '<bdi>a [1-2/2]</bdi></th><td><div class="reason">calls:\n1 of 2\n&lt;b&gt;</div></td>' in page
    assert "more." not in Reader(page).text


def test_the_passport_of_a_judge_has_its_name_beside_it_where_a_narrow_screen_shows_no_head():
    report = Dataset(
        name="d", cases=[Case(name="a", inputs=1)], evaluators=[lambda output: True]
    ).evaluate_sync(str, progress=False)
    report.passports = {report.cases[0].results[0].evaluator: Standing()}
    page = report_html(report)
    assert '<td class="kind" data-label="Passport">none</td>' in page
    assert '<td class="kind">assertion</td>' in page
