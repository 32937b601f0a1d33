"""Check types with mypy: of the source, and of the Python examples in the documentation and in `examples/`.

The blocks of a page become one module, each on the lines where it stands, so that a message leads to the page. One run checks
everything, because most of its time goes into what source and examples both import. `pyproject.toml` says how strictly each is checked.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / ".mypy_cache" / "examples_of_docs"
FENCE = re.compile(r"^([ \t]*)```python\b[^\n`]*\n(.*?)^\1```[ \t]*$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r'^[ \t]*```python[^\n`]*title="(\w+)\.py"', re.MULTILINE)
ATTRIBUTE = re.compile(r"^(\w+\.(?:version|score_range) = [^#\n]*?)(?=\s*(?:#.*)?$)", re.MULTILINE)
"""Attributes that a function may carry. No type checker knows them."""


def module_of(page: str) -> str:
    """The Python of a page, at the lines where it stands there; empty if it has none."""
    lines: list[str] = []
    for block in FENCE.finditer(page):
        before = page.count("\n", 0, block.start()) + 1
        lines += [""] * (before - len(lines))
        text = re.sub(rf"^{block[1]}", "", block[2], flags=re.MULTILINE)
        lines += ATTRIBUTE.sub(r"\1  # type: ignore[attr-defined]", text).splitlines()
    found = "\n".join(lines)
    for name in set(TITLE.findall(page)):  # a block of the page is another one's import
        found = re.sub(rf"^from {name} import .*$", "", found, flags=re.MULTILINE)
    return found


def write_examples() -> dict[str, str]:
    """Write a module for each page and each example file: the path of the module, and the file it came from."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.py"))}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if text := module_of(page.read_text(encoding="utf-8")):
            texts[page] = text + "\n"
    PACKAGE.mkdir(parents=True, exist_ok=True)
    for old in PACKAGE.glob("*.py"):
        old.unlink()
    (PACKAGE / "__init__.py").touch()
    written = {}
    for source, text in texts.items():
        name = source.relative_to(ROOT)
        path = PACKAGE / (re.sub(r"\W", "_", name.with_suffix("").as_posix()) + ".py")
        path.write_text(text, encoding="utf-8")
        written[path.relative_to(ROOT).as_posix()] = name.as_posix()
    return written


def main() -> int:
    """Check everything in one run; the exit code is mypy's."""
    written = write_examples()
    command = [sys.executable, "-m", "mypy", "src", "tests/typing", str(PACKAGE.relative_to(ROOT))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    for path, source in written.items():
        said = said.replace(path, source)
    print(said, end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
