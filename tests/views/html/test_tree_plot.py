import re
from xml.etree import ElementTree as ET

from calipers.report.analysis import TreeNode, TreePlot
from calipers.report.report import Report
from calipers.views.html.analyses import analyses_section
from calipers.views.html.document import report_html
from calipers.views.html.tree_plot import tree_plot


def node(depth, tone="good", **fields):
    return TreeNode(
        **{"depth": depth, "tone": tone, "label": "l", "outcome": tone, "text": f"t{depth}", **fields}
    )


TREE = TreePlot(title="t", nodes=[node(1), node(2, "bad"), node(2), node(1), node(2, "unknown")], left_out=4)


def test_every_step_has_a_dot_and_an_edge():
    svg = tree_plot(TREE)
    ET.fromstring(svg)
    dots = re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)"', svg)
    assert [tone for tone, _, _ in dots] == ["unknown", "good", "bad", "good", "good", "unknown"]
    assert len({place for _, *place in map(list, dots) for place in [tuple(place)]}) == 6, (
        "none lies on another"
    )
    assert svg.count("<path") == 5
    assert "A tree of 9 turns; 1 of the 5 drawn went wrong" in svg
    assert "4 more turns not drawn" in svg


def test_a_tree_without_steps_is_its_root():
    svg = tree_plot(TreePlot(title="t", nodes=[]))
    ET.fromstring(svg)
    assert svg.count("<circle") == 1


def test_what_others_said_is_shown_and_not_obeyed():
    hostile = "</title></svg><script>alert(1)</script>\x00"
    plot = TreePlot(
        title=hostile, nodes=[node(1, label=hostile, outcome=hostile, text=hostile, answer=hostile)]
    )
    svg = tree_plot(plot, heading=hostile, footer=hostile)
    ET.fromstring(svg)
    assert "<script" not in svg
    assert "<script>alert" not in analyses_section(Report(name="r", cases=[], analyses=[plot]))


def test_in_a_page_the_tree_brings_no_style_of_its_own():
    page = report_html(Report(name="r", cases=[], analyses=[TREE]))
    assert 'class="plot tree"' in page
    assert page.count("<style") == 1, "the policy of the page allows only its own"
