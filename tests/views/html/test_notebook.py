"""What a notebook shows: pages in frames, in which nothing that a model wrote does anything."""

import re
from html import unescape

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.comparison import compare_reports
from calipers.data.trace import ToolCall, Trace
from calipers.evaluators import EqualsExpected
from calipers.gate import Policy, Rules, judge_run
from calipers.report import Incomplete
from calipers.rollouts import Graph, Node

HOSTILE = "</p></iframe><script>alert(1)</script><img src=x onerror=alert(2)>\"'"


def report_of(answer):
    cases = [
        Case(name=f"{HOSTILE} {number}", inputs=HOSTILE, expected_output="Lima", metadata={HOSTILE: HOSTILE})
        for number in range(3)
    ]
    dataset = Dataset(name=HOSTILE, cases=cases, evaluators=[EqualsExpected()])
    return dataset.evaluate_sync(lambda inputs: answer, progress=False, seed=1, name=HOSTILE)


def shown():
    good, bad = report_of("Lima"), report_of(HOSTILE)
    call = ToolCall(HOSTILE, {"q": HOSTILE}, output=HOSTILE, success=False, error=HOSTILE)
    turn = Node("", HOSTILE, HOSTILE, success=False, trace=Trace(tool_calls=[call]))
    return {
        "report": bad,
        "comparison": compare_reports(good, bad),
        "verdict": judge_run(bad, Policy(pass_rate=Rules(at_least=0.9))),
        "trace": Trace(agent_name=HOSTILE, tool_calls=[call], input_text=HOSTILE, output_text=HOSTILE),
        "rollout": Graph(HOSTILE, [Node("", HOSTILE, HOSTILE, children=[turn, turn])], stopped=HOSTILE),
    }


@pytest.fixture(scope="module")
def things():
    return shown()


KINDS = ["report", "comparison", "verdict", "trace", "rollout"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_sentence_and_a_frame_that_runs_no_script(things, kind):
    html = things[kind]._repr_html_()
    found = re.fullmatch(
        r'<div><p>([^<]+)</p><iframe sandbox="" srcdoc="([^"]*)" style="[^"<]+" title="Calipers"></iframe></div>',
        html,
    )
    assert found is not None
    page = unescape(found[2])
    assert "<script" not in page
    assert "<img" not in page
    assert "default-src 'none'" in page
    assert "&lt;script&gt;" in page


def test_the_page_says_what_the_view_says(things):
    pages = {kind: unescape(unescape(thing._repr_html_())) for kind, thing in things.items()}
    assert "Passed 0 of 3 cases" in pages["report"]
    assert "report.to_pandas()" in pages["report"]
    assert "broken" in pages["comparison"]
    assert "FAIL" in pages["verdict"] or "INCONCLUSIVE" in pages["verdict"]
    assert "1 tool call" in pages["trace"]
    assert "2 conversations" in pages["rollout"]


def caption(thing):
    return unescape(thing._repr_html_().partition("</p>")[0].removeprefix("<div><p>"))


def test_the_sentence_of_a_run_that_ended_early_says_so(things):
    stopped = msgspec.structs.replace(
        report_of("Lima"), incomplete=Incomplete("interrupted", "interrupted by Ctrl-C after 3 of 9 attempts")
    )
    assert "interrupted by Ctrl-C after 3 of 9 attempts" in caption(stopped)
    assert "Passed 3 of 3 cases" in caption(stopped)


def test_that_an_agent_called_no_tool_is_said_only_where_it_is_known():
    assert "tool call" not in caption(Trace(output_text="yes"))
    assert "0 tool calls" in caption(Trace(output_text="yes", tool_calls=[]))


def test_a_long_trace_is_cut_and_says_so():
    trace = Trace(tool_calls=[ToolCall("search", {"q": "x" * 10_000}) for _ in range(150)])
    page = unescape(trace._repr_html_())
    assert "… and 50 more turns" in page
    assert "characters)" in page
    assert len(page) < 1_000_000


def test_nothing_happens_when_a_browser_shows_it(browser, things):
    page = browser.new_page()
    complaints = []
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on(
        "request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None
    )
    page.set_content("".join(f"<section>{thing._repr_html_()}</section>" for thing in things.values()))
    for frame in page.frames[1:]:
        frame.wait_for_load_state()
        assert frame.locator("h1").count() == 1
    assert len(page.frames) == 1 + len(KINDS)
    assert complaints == []
    page.close()
