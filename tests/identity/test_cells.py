"""Functions and classes that were defined in the cells of a notebook are known by their source, like those of files."""

import __future__

import ast
import asyncio
import inspect
import itertools
import linecache
import sys
import textwrap
import types

import pytest

from calipers.identity import task_identity
from calipers.identity.fingerprint import Unknown


class Notebook:
    """Runs cells as IPython does: statement by statement, with await at the top, and what is of the future stays."""

    def __init__(self, module):
        self.names = vars(module)
        self._numbers = itertools.count(1)
        self._futures = 0

    def run(self, cell):
        text = textwrap.dedent(cell)
        file = f"<ipython-input-{next(self._numbers)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | self._futures
        for statement in ast.parse(text).body:
            code = compile(ast.Module([statement], []), file, "exec", flags, dont_inherit=True)
            if code.co_flags & inspect.CO_COROUTINE:
                asyncio.run(types.FunctionType(code, self.names)())
            else:
                exec(code, self.names)
        if "from __future__ import annotations" in text:
            self._futures |= __future__.annotations.compiler_flag

    def identity(self, name):
        return task_identity(self.names[name])


@pytest.fixture
def notebook(monkeypatch):
    """A notebook whose names are those of a module, as a kernel's are those of `__main__`."""
    module = types.ModuleType("cells")
    monkeypatch.setitem(sys.modules, "cells", module)
    before = set(linecache.cache)
    yield Notebook(module)
    for file in set(linecache.cache) - before:
        del linecache.cache[file]


CELLS = {
    "a function that uses what its cell imports": """
        import math
        def task(x):
            return math.sqrt(x)
        """,
    "a cell that awaits": """
        import asyncio
        await asyncio.sleep(0)
        async def task(x):
            await asyncio.sleep(0)
            return x
        """,
    "a lambda beside another one": """
        import math
        other, task = lambda x: math.sin(x), lambda x: math.cos(x)
        """,
    "a class with methods": """
        import math
        class Agent:
            def __call__(self, x):
                return math.sqrt(x)
        task = Agent()
        """,
    "a function inside a function": """
        import math
        def made(k):
            def inner(x):
                return math.pow(x, k)
            return inner
        task = made(3)
        """,
}


@pytest.mark.parametrize("what", CELLS)
def test_a_cell_is_known_and_one_that_says_something_else_is_another(notebook, what):
    keys = []
    for cell in (
        CELLS[what],
        CELLS[what],
        CELLS[what].replace("return x", "return -x").replace("math.", "-math."),
    ):
        notebook.run(cell)
        identity = notebook.identity("task")
        assert not isinstance(identity, Unknown), identity.reason
        keys.append(identity.key)
    assert keys[0] == keys[1] != keys[2]


def test_what_an_earlier_cell_imports_from_the_future_counts(notebook):
    notebook.run("from __future__ import annotations")
    notebook.run(
        """
        def task(x):
            def inner(y: int) -> str:
                return y
            return inner(x)
        """
    )
    assert not isinstance(notebook.identity("task"), Unknown)


def test_a_function_whose_cell_has_another_text_by_now_is_unknown(notebook):
    notebook.run("import math\ndef task(x):\n    return math.sqrt(x)\n")
    file = notebook.names["task"].__code__.co_filename
    text = "import math\ndef task(x):\n    return math.sin(x)\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    assert isinstance(notebook.identity("task"), Unknown)
