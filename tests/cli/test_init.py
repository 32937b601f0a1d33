import json
import re

import jsonschema_rs
import yaml

from calipers.cli.actions.init import FILES
from calipers.files.project import find_project


def test_the_example_runs_in_an_empty_folder_and_explains_its_failure(calipers, folder):
    done = calipers("init")
    assert done.exit_code == 0
    *_, next_, first, second, third = done.stdout.splitlines()
    assert next_ == "Next:"
    assert first.startswith("  calipers run ")
    assert second.startswith("  calipers show latest ")
    assert "eval_helpdesk.py" in third
    assert find_project().max_concurrency == 20
    ran = calipers("run")
    assert ran.exit_code == 1
    assert "Passed 2 of 3 cases" in ran.stdout
    assert "honest: expected 'I do not know'" in ran.stdout
    failed, kept = ran.stderr.splitlines()
    assert failed == "Failed: 1 of 3 cases did not pass"
    assert kept.startswith("Kept in .calipers/runs.db: calipers show ")


def test_the_example_passes_once_it_is_mended_as_its_comment_says(calipers, folder):
    calipers("init")
    path = folder / "eval_helpdesk.py"
    text = path.read_text(encoding="utf-8")
    (better,) = re.findall(r'# Wrong on purpose: it should be (".*") instead', text)
    path.write_text(text.replace('return "Yes, of course. Thank you!"', f"return {better}"), encoding="utf-8")
    mended = calipers("run")
    assert mended.exit_code == 0
    assert "on purpose" not in mended.stdout


def test_the_dataset_of_the_example_has_no_problems_and_its_tags_select(calipers, folder):
    calipers("init")
    assert calipers("check", "cases.yaml", "--evaluator-type", "eval_helpdesk.py:Polite").exit_code == 0
    assert "Passed 1 of 1 case" in calipers("run", "--tag", "facts").stdout


def test_the_schema_that_the_readme_speaks_of_accepts_the_dataset(calipers, folder):
    calipers("init")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    calipers (schema .*)$", readme, re.MULTILINE)
    assert calipers(*command.split()).exit_code == 0
    (named,) = re.findall(r"# yaml-language-server: \$schema=(\S+)", readme)
    schema = json.loads((folder / named).read_bytes())
    dataset = yaml.safe_load((folder / "cases.yaml").read_text(encoding="utf-8"))
    assert jsonschema_rs.is_valid(schema, dataset)
    assert not jsonschema_rs.is_valid(schema, {**dataset, "evaluators": ["Rude"]})


def test_the_command_of_the_ci_job_runs_and_passes(calipers, folder):
    calipers("init")
    workflow = yaml.safe_load((folder / ".github/workflows/evals.yml").read_text(encoding="utf-8"))
    (command,) = [
        step["run"]
        for step in workflow["jobs"]["evals"]["steps"]
        if step.get("run", "").startswith("calipers")
    ]
    done = calipers(*command.split()[1:])
    assert done.exit_code == 0
    assert (folder / "report.md").exists()
    assert "::" in done.stdout


def test_it_makes_the_folder_it_is_given(calipers, folder):
    done = calipers("init", "new/evals")
    assert "  cd new/evals && calipers run " in done.stdout
    written = {
        path.relative_to(folder / "new/evals").as_posix() for path in folder.rglob("*") if path.is_file()
    }
    assert written == set(FILES)


def test_the_next_command_can_be_copied_whatever_the_folder_is_called(calipers):
    assert "  cd 'my evals/a' && calipers run " in calipers("init", "my evals/a").stdout


def test_nothing_that_exists_is_overwritten_unless_forced(calipers, write, folder):
    write("README.md", "mine")
    done = calipers("init")
    assert done.exit_code == 2
    assert "nothing was written, since these exist: README.md" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["README.md"]
    assert calipers("init", "--force").exit_code == 0
    assert (folder / "README.md").read_text(encoding="utf-8") == FILES["README.md"]
