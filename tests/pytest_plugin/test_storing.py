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


def test_a_session_is_kept_as_one_run_that_equals_its_report(folder):
    folder.write("test_it.py", TESTS)
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
    assert "--calipers-store: there is no store of the kind 'mysql'" in done.err
    assert "secret" not in done.out + done.err


def test_a_store_that_breaks_during_the_session_fails_it(folder):
    folder.write(
        "test_it.py",
        TESTS.replace(
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
