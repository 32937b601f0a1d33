"""`--calipers-plugin`: the hooks, evaluators and views of plugins in a session of pytest."""

from textwrap import dedent

import pytest

XDIST = ("calipers.pytest_plugin", "xdist.plugin")

DIARY = """
from pathlib import Path

from calipers.plugins import EvaluatorPlugin, ViewPlugin


def brief(output, letters: int):
    return len(output) <= letters


class Diary(EvaluatorPlugin, ViewPlugin):
    name = "diary"
    evaluator_types = (brief,)
    home = Path(__file__).parent.parent

    def note(self, text):
        with (self.home / "heard.txt").open("a", encoding="utf-8") as file:
            file.write(text + "\\n")

    def on_test_end(self, test_name):
        self.note(test_name)

    def on_unload(self):
        self.note("the end")

    def create_view(self):
        return lambda report: f"{report.name}: {len(report.cases)} attempts\\n"
"""
HEAR = "--calipers-plugin=./plugins"


@pytest.fixture
def add_plugin(folder):
    """Adds a file to the folder of plugins."""

    def add(text, name="diary"):
        (folder.path / "plugins").mkdir(exist_ok=True)
        (folder.path / "plugins" / f"{name}.py").write_text(dedent(text), encoding="utf-8")

    return add


@pytest.fixture
def heard(folder):
    """What the diary was told."""
    return lambda: (folder.path / "heard.txt").read_text(encoding="utf-8").splitlines()


def clumsy(method, does="1 / 0"):
    return f"""
    from calipers.plugins import ViewPlugin

    class Clumsy(ViewPlugin):
        name = "clumsy"

        def create_view(self):
            return lambda report: "drawn"

        def {method}(self):
            {does}
    """


ALL_WAYS = """
@pytest.mark.calipers(dataset, task=right)
def test_marked(): ...

@pytest.mark.calipers(dataset)
def test_case(evaluate_case):
    assert_passed(evaluate_case(right))

def test_all(evaluate):
    assert_passed(evaluate(dataset, right))
"""


def test_plugins_are_told_of_every_evaluation_and_unloaded_at_the_end(folder, add_plugin, heard):
    add_plugin(DIARY)
    folder.write("test_it.py", ALL_WAYS)
    assert folder.pytest("-q").code == 0
    assert not (folder.path / "heard.txt").exists(), "a folder of plugins takes part where it is named"
    done = folder.pytest("-q", HEAR)
    assert (done.code, done.err) == (0, "")
    assert heard() == [*["France", "Peru", "Chad"] * 3, "the end"]


def test_installed_plugins_take_part_unless_they_are_left_out(folder, add_plugin, heard):
    add_plugin(DIARY)
    info = folder.path / "diary-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: diary\nVersion: 1\n", encoding="utf-8")
    offers = "[calipers.plugins]\ndiary = plugins.diary:Diary\nlost = plugins.lost\n"
    (info / "entry_points.txt").write_text(offers, encoding="utf-8")
    folder.write("test_it.py", ALL_WAYS)
    here = {"PYTHONPATH": str(folder.path), "fresh": True}
    done = folder.pytest("-q", "--calipers-out=diary:-", **here)
    assert done.code == 0, done.out + done.err
    assert "pytest: 9 attempts" in done.out
    assert "plugin lost (diary 1, plugins.lost): import failed: ModuleNotFoundError" in done.section
    assert heard() == [*["France", "Peru", "Chad"] * 3, "the end"]
    (folder.path / "heard.txt").unlink()
    assert folder.pytest("-q", "--calipers-no-plugins", **here).code == 0
    folder.write("calipers.toml", "plugins = false\n")
    assert folder.pytest("-q", **here).code == 0
    (folder.path / "calipers.toml").unlink()
    folder.write("test_it.py", "def test_nothing_is_measured(): ...\n")
    assert folder.pytest("-q", **here).code == 0
    assert not (folder.path / "heard.txt").exists()


def test_a_test_may_name_plugins_of_its_own_instead(folder, add_plugin, heard):
    add_plugin(DIARY)
    folder.write(
        "test_it.py",
        """
from calipers.plugins import PluginBase, PluginManager

told = []

class Own(PluginBase):
    name = "own"

    def on_test_end(self, test_name):
        told.append(test_name)

manager = PluginManager()
manager.load_plugins(classes=[Own], entry_points=False)

def test_all(evaluate):
    assert_passed(evaluate(dataset, right, plugins=manager))
    assert told == ["France", "Peru", "Chad"]
    assert_passed(evaluate(dataset, right, plugins=None))

@pytest.mark.calipers(dataset, task=right, plugins=manager)
def test_marked():
    assert len(told) > 3

async def test_in_an_event_loop(evaluate):
    del told[:]
    assert_passed(await evaluate.on_loop(dataset, right, plugins=manager))
    assert len(told) == 3
""",
    )
    plugins = ("calipers.pytest_plugin", "pytest_asyncio.plugin")
    options = ("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function")
    done = folder.pytest("-q", HEAR, *options, plugins=plugins)
    assert (done.code, done.counts) == (0, {"passed": 5}), done.out
    assert heard() == ["the end"]


def test_the_fixture_gives_the_evaluators_that_dataset_files_may_name(folder, add_plugin):
    add_plugin(DIARY)
    (folder.path / "cases.yaml").write_text("{cases: [{inputs: Lima}], evaluators: [brief: 4]}")
    folder.write(
        "test_it.py",
        """
def test_file(evaluate, calipers_plugins):
    types = calipers_plugins.get_evaluator_types()
    report = evaluate(Dataset.from_file("cases.yaml", evaluator_types=types), str)
    assert_rate(report, "brief", at_least=1)
""",
    )
    assert folder.pytest("-q", HEAR).code == 0
    done = folder.pytest("-q")
    assert done.code == 1
    assert "no evaluator is called 'brief'" in done.out, "there are no plugins, and the fixture says so"


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_report_file_may_be_made_by_a_view_also_of_what_workers_measured(
    folder, add_plugin, heard, processes
):
    add_plugin(DIARY)
    folder.write("test_it.py", ALL_WAYS)
    out = ("--calipers-out=diary:out/diary.md", "--calipers-out=diary:-")
    done = folder.pytest("-q", HEAR, *out, "-n", processes, plugins=XDIST)
    assert done.code == 0, done.out
    assert (folder.path / "out" / "diary.md").read_text(encoding="utf-8") == "pytest: 9 attempts\n"
    assert "\npytest: 9 attempts\n" in done.out
    assert "Wrote out/diary.md" in done.section
    assert sorted(line for line in heard() if line != "the end") == sorted(["France", "Peru", "Chad"] * 3)
    assert heard().count("the end") == 1 + int(processes), "each process has plugins of its own"


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_hook_that_fails_is_told_once_and_changes_no_exit_code(folder, add_plugin, processes):
    add_plugin(clumsy("on_suite_end"), "clumsy")
    folder.write(
        "test_it.py", "@pytest.mark.calipers(dataset, task=right, concurrent=False)\ndef test_it(): ...\n"
    )
    done = folder.pytest("-qq", HEAR, "-n", processes, "--dist=loadfile", plugins=XDIST, COLUMNS="200")
    assert done.code == 0
    told = "plugin clumsy (plugins/clumsy.py): on_suite_end failed (3 times): ZeroDivisionError: division by zero"
    assert done.section == f"{told}\n"


def test_a_view_that_fails_is_told_and_is_no_success(folder, add_plugin):
    add_plugin(clumsy("create_view", "return lambda report: 1 / 0"), "clumsy")
    folder.write("test_it.py", "def test_it(): ...\n")
    done = folder.pytest("-q", HEAR, "--calipers-out=clumsy:a.txt", "--calipers-out=b.json", COLUMNS="300")
    assert done.code == 3
    assert "--calipers-out could not write clumsy:" in done.section
    assert "a.txt: the view 'clumsy' failed: ZeroDivisionError: division by zero" in done.section
    assert [path.name for path in folder.path.glob("*.*[nt]")] == ["b.json"], "the others are written"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--calipers-plugin=missing"], "no plugin 'missing' is installed"),
        (["--calipers-plugin=./nowhere"], "nowhere (nowhere): find failed: FileNotFoundError"),
        ([HEAR], "broken (plugins/broken.py): import failed: ZeroDivisionError: division by zero"),
        (["--calipers-out=diary:a"], "--calipers-out: no report format is known for 'diary:a'"),
        (
            ["--calipers-plugin=./fine", "--calipers-out=clumsy:a"],
            "create_view of the plugin 'clumsy' failed: Zero",
        ),
        (
            ["--calipers-plugin=./fine", "--calipers-out=clumsey:a"],
            "no report format is called 'clumsey', did you",
        ),
    ],
    ids=["unknown", "no folder", "broken", "no plugin", "no view", "slip"],
)
def test_what_cannot_take_part_is_wrong_usage_before_any_test_runs(folder, add_plugin, options, message):
    add_plugin("1 / 0", "broken")
    (folder.path / "fine").mkdir()
    (folder.path / "fine" / "clumsy.py").write_text(dedent(clumsy("create_view")), encoding="utf-8")
    folder.write("test_it.py", "def test_it(): raise AssertionError('it ran')\n")
    done = folder.pytest(*options)
    assert done.code == 4
    assert done.err.count(message) == 1, done.err
    assert "Traceback" not in done.err
    assert "it ran" not in done.out


def test_the_plugins_beside_one_that_fails_are_unloaded_again(folder, add_plugin, heard):
    add_plugin(DIARY)
    add_plugin("1 / 0", "broken")
    assert folder.pytest(HEAR).code == 4
    assert heard() == ["the end"]
