"""The settings of a project: `calipers.toml`, or `[tool.calipers]` in `pyproject.toml`."""

import re

import pytest

from calipers.errors import SettingsError
from calipers.files.project import Price, Project, find_project

EVERYTHING = """\
store = "kept/runs.db"
plugins = ["polite", "./plugins"]
model = "small"
max_concurrency = 7
task_timeout = 1.5
evaluator_timeout = 2
redact = ["email"]

[prices.small]
input = 0.25
output = 2
[prices."big.one"]
input = 1
output = 8
cached_input = 0.1
"""


def write(folder, text, name="calipers.toml"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_every_setting_is_read_and_paths_count_from_the_file(tmp_path):
    file = write(tmp_path, EVERYTHING)
    assert find_project(tmp_path) == Project(
        file=file,
        store=str(tmp_path / "kept" / "runs.db"),
        plugins=("polite", str(tmp_path / "plugins")),
        model="small",
        max_concurrency=7,
        task_timeout=1.5,
        evaluator_timeout=2,
        redact=("email",),
        prices={
            "small": Price(input=0.25, output=2),
            "big.one": Price(input=1, output=8, cached_input=0.1),
        },
    )


def test_a_pyproject_has_the_same_settings_under_its_own_table(tmp_path):
    tables = EVERYTHING.replace("[prices", "[tool.calipers.prices")
    write(tmp_path, f'[project]\nname = "x"\n[tool.calipers]\n{tables}', "pyproject.toml")
    found = find_project(tmp_path)
    write(tmp_path / "other", EVERYTHING)
    same = find_project(tmp_path / "other")
    assert found.file == tmp_path / "pyproject.toml"
    for name in ("model", "prices", "max_concurrency", "task_timeout", "evaluator_timeout", "redact"):
        assert getattr(found, name) == getattr(same, name)


def test_the_nearest_folder_counts_and_in_it_the_file_of_its_own(tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    write(tmp_path, "model = 'top'")
    write(tmp_path / "a", "[tool.calipers]\nmodel = 'shared'", "pyproject.toml")
    assert find_project(below).model == "shared"
    write(tmp_path / "a", "model = 'own'")
    assert find_project(below).model == "own"


def test_a_pyproject_without_the_table_is_passed_over_even_if_it_is_broken(tmp_path):
    write(tmp_path, "model = 'top'")
    write(tmp_path / "a", "[project]\ndependencies = ['calipers']", "pyproject.toml")
    write(tmp_path / "a" / "b", "this is [no TOML", "pyproject.toml")
    assert find_project(tmp_path / "a" / "b").model == "top"


def test_without_a_file_everything_has_its_default(tmp_path):
    assert find_project(tmp_path) == Project()
    write(tmp_path, "")
    assert find_project(tmp_path) == Project(file=tmp_path / "calipers.toml")


@pytest.mark.parametrize("url", ["postgresql://me@host/db", "sqlite:///runs.db", ":memory:"])
def test_a_url_stays_as_it_is(tmp_path, url):
    write(tmp_path, f"store = '{url}'")
    assert find_project(tmp_path).store == url


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stor = 'x'", "calipers.toml:1:1: stor: unknown setting (did you mean 'store'?)"),
        ("\nmax-concurrency = 3", "calipers.toml:2:1: max-concurrency: unknown setting (did you mean 'max_concurrency'?)"),
        ("colour = 1", "unknown setting; there are store, plugins, model"),
        ("# one\n  max_concurrency = 0", 'calipers.toml:2:3: max_concurrency: expected a whole number from 1, or "auto", got 0'),
        ("max_concurrency = true", 'expected a whole number from 1, or "auto", got True'),
        ("task_timeout = '1s'", "task_timeout: expected a number of seconds above 0, got '1s'"),
        ("evaluator_timeout = inf", "expected a number of seconds above 0"),
        ("plugins = 'polite'", "plugins: expected true, false or a list of plugins, got 'polite'"),
        ("store = ''", "store: expected the path or URL of a store"),
        ("redact = [1]", "redact: expected a list of names of fields"),
        ("prices = 3", "prices: expected a table of models"),
        ("[prices.small]\ninput = -1\noutput = 2", "calipers.toml:2:1: prices.small.input: expected dollars"),
        ("[prices.small]\ninput = 1", "calipers.toml:1:2: prices.small: output is missing"),
        ("prices.small = { inputs = 1, output = 2 }", "prices.small.inputs: unknown setting (did you mean 'input'?)"),
        ("model = 'a", "calipers.toml:1:"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place_and_the_way_out(tmp_path, monkeypatch, text, message):
    write(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=re.escape(message)):
        find_project()


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    write(tmp_path, "[tool.calipers]\nmodl = 1\nstore = 2", "pyproject.toml")
    with pytest.raises(SettingsError) as caught:
        find_project(tmp_path)
    assert [(each.line, each.path) for each in caught.value.problems] == [(2, "modl"), (3, "store")]


def test_a_file_that_is_no_text_is_told(tmp_path):
    (tmp_path / "calipers.toml").write_bytes(b"model = 'a'\n# \xff")
    with pytest.raises(SettingsError, match=r"calipers\.toml:2:1: the file is not UTF-8"):
        find_project(tmp_path)


def test_a_settings_file_that_cannot_be_read_is_an_error_and_not_ignored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "calipers.toml"
    file.mkdir()
    with pytest.raises(
        SettingsError, match=r"^calipers.toml: the settings .* are a file, and this is a folder$"
    ):
        find_project()
    file.rmdir()
    file.symlink_to("gone.toml")
    (tmp_path / "below").mkdir()
    with pytest.raises(SettingsError, match=r"the link leads to a file that does not exist: gone.toml$"):
        find_project(tmp_path / "below")
    write(tmp_path, "max_concurrency = 3\n", "gone.toml")
    assert find_project().max_concurrency == 3


def test_a_pyproject_that_cannot_be_read_is_passed_over(tmp_path):
    (tmp_path / "pyproject.toml").mkdir()
    assert find_project(tmp_path) == Project()


def test_a_store_with_a_nul_in_its_name_is_refused_where_it_is_set(tmp_path):
    write(tmp_path, '\nstore = "runs\\u0000.db"\n')
    with pytest.raises(
        SettingsError, match=r"calipers.toml:2:1: store: expected the path or URL of a store, without NUL"
    ):
        find_project(tmp_path)
