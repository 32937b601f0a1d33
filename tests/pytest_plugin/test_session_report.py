import xml.etree.ElementTree as ET

from calipers.stores import open_store
from calipers.views.formats import read_report

TESTS = """
import os

@pytest.mark.calipers(dataset, task=paris)
def test_marked(): ...

def test_inline(evaluate, tmp_path):
    os.chdir(tmp_path)
    assert_rate(evaluate(dataset, right, repeat=2), at_least=1)
"""


def test_one_report_of_the_session_is_written_in_every_format_that_is_asked_for(folder):
    folder.write("test_it.py", TESTS)
    (folder.path / "sub").mkdir()
    done = folder.pytest(
        "-q",
        "--calipers-seed=5",
        "--calipers-out=out.json",
        "--calipers-out=junit:sub/results",
        "--calipers-out",
        "github:-",
    )
    assert done.counts == {"failed": 2, "passed": 2}
    report = read_report(folder.path / "out.json")
    assert (report.name, report.seed, report.repeat, report.incomplete) == ("pytest", 5, 2, None)
    assert [record.name for record in report.cases][:4] == [
        "test_it.py::test_marked[France]",
        "test_it.py::test_marked[Peru]",
        "test_it.py::test_marked[Chad]",
        "test_it.py::test_inline France [1/2]",
    ]
    assert report.pass_rate().n_units == 6
    assert report.pass_rate().n_observations == 9
    assert report.duration > 0
    assert report.started_at.endswith("+00:00")
    assert len(list(ET.parse(folder.path / "sub" / "results").iter("testcase"))) == 9
    assert done.out.count("\n::error") == 2, "each on a line of its own"
    assert done.section.splitlines()[-2:] == ["Wrote out.json", "Wrote sub/results"]
    silent = folder.pytest("-qq", "--calipers-out=out.json", f"--calipers-out=json:{folder.path}/sub/again")
    assert "Wrote" not in silent.out


def test_a_file_elsewhere_is_told_by_its_whole_path(folder, tmp_path_factory):
    folder.write("test_it.py", "def test_ordinary(): ...\n")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "out.json"
    done = folder.pytest("-q", f"--calipers-out={elsewhere}", COLUMNS="400")
    assert f"Wrote {elsewhere}\n" in done.section


def test_in_github_actions_commands_come_from_the_format_for_them_and_from_no_other(folder):
    folder.write(
        "test_it.py",
        """
hostile = Case(name="::error::forged", inputs=1, expected_output=2)

@pytest.mark.calipers(Dataset(cases=[hostile], evaluators=[EqualsExpected()]), task=str)
def test_it(): ...
""",
    )
    out = ["--calipers-out=md:-", "--calipers-out=github:-"]
    lines = folder.pytest("-qq", *out, GITHUB_ACTIONS="true").out.splitlines()
    stops = [number for number, line in enumerate(lines) if line.startswith("::stop-commands::")]
    errors = [number for number, line in enumerate(lines) if line.startswith("::error ")]
    assert (len(stops), len(errors)) == (2, 1), "one block for Markdown, one for the summary of pytest"
    ends = [lines.index(f"::{lines[stop].removeprefix('::stop-commands::')}::") for stop in stops]
    assert stops[0] < ends[0] < errors[0] < stops[1] < ends[1]


def test_a_session_that_measured_nothing_replaces_the_file_of_an_earlier_one(folder):
    folder.write("test_it.py", "def test_ordinary(): ...\n")
    (folder.path / "out.json").write_text("an old report")
    done = folder.pytest("-q", "--calipers-out=out.json")
    assert (done.code, done.section) == (0, "Nothing was measured.\nWrote out.json\n")
    report = read_report(folder.path / "out.json")
    assert (report.cases, report.failures, report.pass_rate(None)) == ([], [], None)
    assert folder.pytest("-q", "missing.py", "--calipers-out=none.json").code == 4
    assert not (folder.path / "none.json").exists()


def test_a_file_that_cannot_be_written_is_told_and_is_no_success(folder):
    folder.write("test_it.py", "@pytest.mark.calipers(dataset, task=right)\ndef test_it(): ...\n")
    (folder.path / "folder.json").mkdir()
    done = folder.pytest("-q", "-q", "--calipers-out=folder.json", "--calipers-out=out.json")
    assert done.code == 3
    assert "--calipers-out could not write" in done.section
    assert "seed" not in done.section, "nothing else is said when silence is asked for"
    assert len(read_report(folder.path / "out.json").cases) == 3, "the others are written"
    told = folder.pytest("-p", "no:terminal", "--calipers-out=folder.json")
    assert told.code == 3
    assert "--calipers-out could not write json:" in told.err


# ---------------------------------------------------------------------- the store


STORING_TESTS = """
import os

@pytest.mark.calipers(dataset, task=paris)
def test_marked(): ...

def test_inline(evaluate, tmp_path):
    os.chdir(tmp_path)
    assert_rate(evaluate(dataset, right, repeat=2), at_least=1)
"""


def test_a_session_is_kept_as_one_run_that_equals_its_report(folder):
    folder.write("test_it.py", STORING_TESTS)
    done = folder.pytest("-q", "--calipers-store=sub/runs.db", "--calipers-out=out.json", COLUMNS="400")
    assert done.counts == {"failed": 2, "passed": 2}
    with open_store(folder.path / "sub" / "runs.db", existing=True) as store:
        (run,) = store.runs()
        assert (run.name, run.status, run.attempts) == ("pytest", "finished", 9)
        assert store.report(run.id).to_dict() == read_report(folder.path / "out.json").to_dict()
    assert done.section.splitlines()[-1] == f"Kept: calipers show {run.id} --store sqlite:///sub/runs.db"


def test_a_session_that_measured_nothing_leaves_no_run(folder):
    folder.write("test_it.py", "def test_ordinary(): ...\n")
    assert folder.pytest("-q", "--calipers-store=runs.db").code == 0
    with open_store(folder.path / "runs.db", existing=True) as store:
        assert store.runs() == []


def test_a_store_that_cannot_be_opened_is_told_before_anything_runs(folder):
    folder.write("test_it.py", "def test_it(): raise SystemExit('ran')")
    done = folder.pytest("--calipers-store=mysql://me:secret@there/db")
    assert done.code == 4
    assert "--calipers-store: unknown kind of store 'mysql'" in done.err
    assert "secret" not in done.out + done.err


def test_a_store_that_breaks_during_the_session_fails_it(folder):
    folder.write(
        "test_it.py",
        STORING_TESTS.replace(
            "assert_rate(", "__import__('shutil').copy(__file__, os.environ['STORE']); assert_rate("
        ),
    )
    done = folder.pytest(
        "-q", "-k", "inline", "--calipers-store=runs.db", COLUMNS="400", STORE=f"{folder.path}/runs.db"
    )
    assert done.code == 3
    assert "--calipers-store could not keep what was measured: " in done.section


SETTINGS = """
import asyncio

async def slow(country):
    await asyncio.sleep(30)

noted = Dataset(cases=[Case(name="one", inputs={"mail": "me@home"})], evaluators=[lambda output: True])

def test_slow(evaluate):
    assert evaluate(dataset, slow).failures[0].error_type == "AttemptTimeoutError"

def test_kept(evaluate):
    assert_passed(evaluate(noted, dict))
"""


def test_the_projects_file_limits_tasks_and_masks_fields(folder):
    folder.write("test_it.py", SETTINGS)
    folder.write("calipers.toml", "task_timeout = 0.01\nredact = ['mail']\n")
    done = folder.pytest("-q", "--calipers-store=runs.db")
    assert done.counts == {"passed": 2}, done.out
    with open_store(folder.path / "runs.db", existing=True) as store:
        report = store.report(store.runs()[0].id)
    assert report.cases[0].inputs == {"mail": "[redacted]"}
