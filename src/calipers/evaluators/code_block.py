"""Code in a model's answer: the whole text, or a Markdown code block.

A code block opens and closes with a line that begins with three or more backticks or tildes, without indentation: inside
docstrings such lines are indented. A block that is never closed runs to the end.
"""

import re
from typing import NamedTuple

_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([^\s`]*)")


class Block(NamedTuple):
    """One code block."""

    language: str
    """The word after the opening fence, in lower case; empty if there is none."""
    code: str


def code_in(text: str, languages: tuple[str, ...]) -> str:
    """The code in a text: its only code block, or all of it if it has none.

    Where there are several blocks, those in one of the languages count, else those that name no language.

    Raises:
        ValueError: several blocks could be meant, or there is no code.
    """
    blocks = code_blocks(text)
    chosen = (
        [block for block in blocks if block.language in languages]
        or [block for block in blocks if not block.language]
        or blocks
    )
    if len(chosen) > 1:
        raise ValueError(f"expected one code block, got {len(chosen)}")
    code = chosen[0].code if chosen else text
    if not code.strip():
        raise ValueError("expected code, got none")
    return code


def code_blocks(text: str) -> list[Block]:
    """The code blocks of a Markdown text, in order."""
    blocks: list[Block] = []
    fence, language, lines = "", "", list[str]()
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if not fence:
            if found:
                fence, language, lines = found[1], found[2].lower(), []
        elif found and not found[2] and found[1].startswith(fence):
            blocks.append(Block(language, "".join(lines)))
            fence = ""
        else:
            lines.append(line)
    if fence:
        blocks.append(Block(language, "".join(lines)))
    return blocks
