import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.evaluators.code_block import Block, code_blocks, code_in

PYTHON = ("python", "py")


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("no block", []),
        ("```python\nx = 1\n```", [("python", "x = 1\n")]),
        ("Sure:\n```Python title\nx = 1\n```\nDone.", [("python", "x = 1\n")]),
        ("```\na\n```\n~~~sql\nb\n~~~\n", [("", "a\n"), ("sql", "b\n")]),
        ("````\n```\nx\n```\n````", [("", "```\nx\n```\n")]),
        ("```\n~~~\n```", [("", "~~~\n")]),
        ("```py\nnever closed", [("py", "never closed")]),
        ("    ```\n    indented\n    ```", []),
        ("inline ```code``` here", []),
        ("```\n\n```", [("", "\n")]),
        ("", []),
    ],
)
def test_blocks_stand_between_fences(text, blocks):
    assert code_blocks(text) == [Block(*block) for block in blocks]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x = 1", "x = 1"),
        ("```python\nx = 1\n```", "x = 1\n"),
        ("```\nx = 1\n```", "x = 1\n"),
        ("```weird\nx = 1\n```", "x = 1\n"),
        ("```bash\npip\n```\n```py\nx = 1\n```", "x = 1\n"),
        ("```bash\npip\n```\n```\nx = 1\n```", "x = 1\n"),
        (
            'def f():\n    """\n    ```\n    x\n    ```\n    """',
            'def f():\n    """\n    ```\n    x\n    ```\n    """',
        ),
    ],
)
def test_the_code_is_the_one_block_that_is_meant_or_the_whole_text(text, code):
    assert code_in(text, PYTHON) == code


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```py\na\n```\n```py\nb\n```", "expected one code block, got 2"),
        ("```bash\na\n```\n```sql\nb\n```", "expected one code block, got 2"),
        ("```py\n\n```", "expected code, got none"),
        (" \n", "expected code, got none"),
    ],
)
def test_several_candidates_or_none_are_no_answer(text, words):
    with pytest.raises(ValueError, match=words):
        code_in(text, PYTHON)


@given(st.text("ab `~\n", min_size=1), st.sampled_from(["", "python", "PY"]))
def test_what_is_fenced_with_enough_backticks_comes_back(code, language):
    fence = "`" * (len(code) + 3)
    text = f"Sure:\n{fence}{language}\n{code}\n{fence}\n"
    if code.strip():
        assert code_in(text, PYTHON) == code + "\n"
