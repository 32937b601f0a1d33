from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.views.html.markup import Markup, element, join, lines, text
from calipers.views.text import visible


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (element("p", "a < b & c"), "<p>a &lt; b &amp; c</p>"),
        (element("p", element("b", "x"), "y"), "<p><b>x</b>y</p>"),
        (element("td", class_="number", aria_label='"'), '<td class="number" aria-label="&quot;"></td>'),
        (element("td", hidden=True, title=None, open=False), "<td hidden></td>"),
        (element("line", x1=1.23456789, y1=2), '<line x1="1.23457" y1="2"/>'),
        (element("p", "\x1b[0m\u202e"), "<p>\\x1b[0m\\u202e</p>"),
        (join(["<", element("b")], ", "), "&lt;, <b></b>"),
        (lines("a\n<b>\r\n\tc\x07"), "a\n&lt;b&gt;\n    c\\x07"),
    ],
)
def test_elements_are_written_and_text_is_escaped(made, expected):
    assert isinstance(made, Markup)
    assert made == expected


@given(st.text())
def test_any_text_comes_back_from_markup_as_it_is_shown_elsewhere(words):
    found = element("p", words, title=words)
    assert found.count("<") == 2
    assert unescape(found) == f'<p title="{visible(words)}">{visible(words)}</p>'


def test_what_is_made_from_markup_by_other_means_is_text_again():
    assert text(element("b", "x") + "<i>") == "&lt;b&gt;x&lt;/b&gt;&lt;i&gt;"
