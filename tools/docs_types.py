"""Check the types of the Python examples on the pages of the documentation, as mypy sees the code of a user.

The blocks of a page become one module, each on the lines where it stands, so that what mypy says leads to the page. A name
may be defined again from block to block, as when a reader types them in. `examples/` is checked as it is.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^([ \t]*)```python\b[^\n`]*\n(.*?)^\1```[ \t]*$", re.DOTALL | re.MULTILINE)
OPTIONS = [
    "--config-file=",
    "--check-untyped-defs",
    "--allow-redefinition-new",
    "--local-partial-types",
    "--disable-error-code=no-redef",
    "--disable-error-code=top-level-await",  # a notebook may
    "--ignore-missing-imports",
    "--no-error-summary",
]


ATTRIBUTE = re.compile(r"^(\w+\.(?:version|score_range) = [^#\n]*?)(?=\s*(?:#.*)?$)", re.MULTILINE)
"""What a function may carry, and no type checker knows of any function."""


def module_of(page: str) -> str:
    """The Python of a page, at the lines where it stands there; empty if it has none."""
    lines: list[str] = []
    for block in FENCE.finditer(page):
        before = page.count("\n", 0, block.start()) + 1
        lines += [""] * (before - len(lines))
        text = re.sub(rf"^{block[1]}", "", block[2], flags=re.MULTILINE)
        lines += ATTRIBUTE.sub(r"\1  # type: ignore[attr-defined]", text).splitlines()
    return "\n".join(lines)


def main() -> int:
    """Check all pages in one go; 1 if mypy finds anything."""
    with tempfile.TemporaryDirectory() as folder:
        pages = {}
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            if text := module_of(page.read_text(encoding="utf-8")):
                name = page.relative_to(ROOT).with_suffix("").as_posix()
                path = Path(folder, re.sub(r"\W", "_", name) + ".py")
                path.write_text(text + "\n", encoding="utf-8")
                pages[str(path)] = f"{name}.md"
        examples = [str(path) for path in sorted((ROOT / "examples").glob("*.py"))]
        command = [sys.executable, "-m", "mypy", *OPTIONS, "--cache-dir", str(ROOT / ".mypy_cache" / "docs")]
        done = subprocess.run(
            [*command, *pages, *examples], cwd=ROOT, capture_output=True, text=True, check=False
        )
        said = done.stdout + done.stderr
    for path, page in pages.items():
        said = said.replace(path, page)
    print(said or f"types of the examples: {len(pages)} pages and {len(examples)} files hold", end="\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
