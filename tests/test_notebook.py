"""Notebooks in a real kernel: runs, what they show, and an interrupt at any moment."""

import asyncio
import os
import random
import re
import textwrap

import nbformat
import pytest
from nbclient import NotebookClient

from .page_examples import blocks, matches
from .test_docs import NOTEBOOK, ROOT

EXAMPLE = ROOT / "examples" / "notebook.ipynb"


class Kernel:
    """A kernel that runs one cell after the other."""

    def __init__(self, folder, runner):
        self.notebook = nbformat.v4.new_notebook()
        self.folder = folder
        self._runner = runner
        self._client = NotebookClient(
            self.notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        )

    async def _started(self):
        self._client.create_kernel_manager()
        await self._client.async_start_new_kernel(cwd=str(self.folder))
        await self._client.async_start_new_kernel_client()

    def start(self):
        self._runner.run(self._started())

    def stop(self):
        self._runner.run(self._client._async_cleanup_kernel())

    def run(self, source, *, interrupt_after=None):
        """The outputs of a cell; with a file, the kernel is interrupted when the cell has written it."""
        return self._runner.run(self._run(textwrap.dedent(source).strip(), interrupt_after))

    async def _run(self, source, file):
        cell = nbformat.v4.new_code_cell(source)
        self.notebook.cells.append(cell)
        running = asyncio.ensure_future(self._client.async_execute_cell(cell, len(self.notebook.cells) - 1))
        if file is not None:
            while not (self.folder / file).exists():
                assert not running.done(), "the cell ended before it could be interrupted"
                await asyncio.sleep(0.01)
            await self._client.km.interrupt_kernel()
        await running
        return cell.outputs


def text_of(outputs):
    """What a cell printed."""
    return "".join(
        each["text"] for each in outputs if each["output_type"] == "stream" and each["name"] == "stdout"
    )


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    places = ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR")
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        for name in places:
            patch.setenv(name, str(folder / name.lower()))
        one = Kernel(folder, runner)
        one.start()
        yield one
        one.stop()


def test_the_page_about_notebooks_runs_as_one_and_prints_what_it_shows(kernel):
    found = list(blocks(NOTEBOOK))
    frames = 0
    for number, (info, source) in enumerate(found):
        if info != "python":
            continue
        outputs = kernel.run(source)
        frames += sum("<iframe" in each.get("data", {}).get("text/html", "") for each in outputs)
        following, shown = found[number + 1] if number + 1 < len(found) else ("", "")
        if following == 'text title="Output"':
            assert matches(shown, text_of(outputs)), (
                f"block {number} printed\n{text_of(outputs)}\nnot\n{shown}"
            )
    assert frames == 1, "the comparison shows itself"


def test_the_example_runs_and_shows_its_results(tmp_path):
    notebook = nbformat.read(EXAMPLE, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [each for cell in notebook.cells if cell.cell_type == "code" for each in cell.outputs]
    assert sum("<iframe" in each.get("data", {}).get("text/html", "") for each in outputs) >= 4
    assert not [each for each in outputs if each.get("name") == "stderr" and "stopping" not in each["text"]]


DEFINED = """
import asyncio, math, time
from dataclasses import dataclass
from calipers import Case, Dataset
from calipers.identity import evaluator_identity, task_identity
from calipers.identity.fingerprint import Unknown

await asyncio.sleep(0)

@dataclass
class Answer:
    number: float
    unit: str = "m"

async def agent(number):
    await asyncio.sleep(0)
    return Answer(math.sqrt(number))

def judge(output):
    return math.isfinite(output.number)
"""


def test_what_cells_define_is_known_and_the_same_when_they_run_again(kernel):
    keys = set()
    for cell in (DEFINED, DEFINED, DEFINED.replace('unit: str = "m"', 'unit: str = "km"')):
        kernel.run(cell)
        kernel.run(
            "unknown = [each for each in map(task_identity, [agent, judge]) if isinstance(each, Unknown)]"
        )
        printed = text_of(kernel.run("print([each.reason for each in unknown], task_identity(agent).key)"))
        assert printed.startswith("[] "), printed
        keys.add(printed)
    assert len(keys) == 2


def test_a_run_shows_its_progress_below_the_cell(kernel):
    outputs = kernel.run(
        """
        import time
        from calipers import Case, Dataset

        def agent(number):
            time.sleep(0.3)
            return number

        report = Dataset(cases=[Case(inputs=number) for number in range(4)]).evaluate_sync(agent, max_concurrency=1)
        """
    )
    [shown] = [each["data"]["text/plain"] for each in outputs if each["output_type"] == "display_data"]
    assert re.match(r"━+  4/4  \S+ s", shown)


SLOW = """
import asyncio, os, pathlib, signal, threading, time
from calipers import Case, Dataset
from calipers.stores import open_store

begun = 0

async def waiting(number):
    global begun
    begun += 1
    pathlib.Path("under_way").touch()
    await asyncio.sleep(0.004)
    return number

def blocking(number):
    global begun
    begun += 1
    time.sleep(0.004)
    return number

async def endless(number):
    global begun
    begun += 1
    if number == 3:
        pathlib.Path("under_way").touch()
        await asyncio.sleep(60)
    return number

waiting.version = blocking.version = endless.version = "1"
dataset = Dataset(name="slow", cases=[Case(name=f"c{n}", inputs=n) for n in range(40)], evaluators=[lambda output: output >= 0])

def status(store):
    with open_store(store) as opened:
        return [run.status for run in opened.runs()]
"""


@pytest.mark.parametrize(
    "call",
    ["dataset.evaluate_sync", "await dataset.evaluate", "(await asyncio.sleep(0)) or dataset.evaluate_sync"],
)
def test_the_interrupt_of_a_kernel_ends_a_run_and_keeps_what_is_finished(kernel, call):
    (kernel.folder / "under_way").unlink(missing_ok=True)
    store = f"interrupted-{len(kernel.notebook.cells)}.db"
    kernel.run(SLOW)
    outputs = kernel.run(
        f"report = {call}(endless, store='{store}', max_concurrency=1)",
        interrupt_after="under_way",
    )
    printed = text_of(kernel.run(f"print(report.incomplete, status('{store}'), begun)"))
    assert printed == "interrupted by Ctrl-C after 3 of 40 attempts ['interrupted'] 4\n"
    assert "stopping: what is finished is kept" in str(outputs)


def test_a_sigterm_ends_a_run_and_not_the_kernel(kernel):
    kernel.run(SLOW)
    kernel.run(
        """
        async def terminated(number):
            if number == 3:
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.sleep(60)
            return number

        report = dataset.evaluate_sync(terminated, max_concurrency=1)
        """
    )
    assert (
        text_of(kernel.run("print(report.incomplete)")) == "interrupted by SIGTERM after 3 of 40 attempts\n"
    )


MOMENT = """
begun = 0
timer = threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT))
try:
    timer.start()
    {call}({task}, store="{store}", max_concurrency=4, progress=False)
    while timer.is_alive():
        {pause}
    {pause}
except (KeyboardInterrupt, asyncio.CancelledError):
    pass
"""

AFTERWARDS = """
states = status("{store}")
if states != ["finished"]:
    {call}({task}, store="{store}", resume=True, max_concurrency=4, progress=False)
with open_store("{store}") as opened:
    kept = len(opened.report("latest").cases)
print(kept, states in ([], ["finished"], ["interrupted"]), status("{store}"), 40 <= begun <= 44)
"""
"""Calls that were in flight are made again, at most as many as may be: more would say that the first run went on."""


def test_an_interrupt_at_any_moment_leaves_nothing_running_and_nothing_lost(kernel):
    draw = random.Random(int.from_bytes(os.urandom(4)))
    kernel.run(SLOW)
    for number in range(12):
        is_async = number % 2 == 1
        given = {
            "call": "await dataset.evaluate" if is_async else "dataset.evaluate_sync",
            "pause": "await asyncio.sleep(0.001)" if is_async else "time.sleep(0.001)",
            "task": draw.choice(["waiting", "blocking"]),
            "delay": round(draw.uniform(0, 0.08), 4),
            "store": f"moment-{number}.db",
        }
        kernel.run(MOMENT.format(**given))
        printed = text_of(kernel.run(AFTERWARDS.format(**given)))
        assert printed == "40 True ['finished'] True\n", given
