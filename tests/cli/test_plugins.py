"""`calipers plugins`, and the plugins that other commands take with `--plugin`."""

import json
import sys
from textwrap import dedent

import pytest

from calipers.views.formats import read_report

TONE = """
    from dataclasses import dataclass

    from calipers.evaluators import Evaluator
    from calipers.plugins import EvaluatorPlugin, PluginBase


    @dataclass
    class Polite(Evaluator):
        \"\"\"The output has a polite word.\"\"\"

        word: str = "please"
        \"\"\"Which word.\"\"\"

        def evaluate(self, ctx):
            return self.word in ctx.output


    def brief(output, words: int):
        \"\"\"The output is short.\"\"\"
        return len(output.split()) <= words


    class TonePlugin(EvaluatorPlugin):
        \"\"\"Judges the tone.

        With care.
        \"\"\"

        name = "tone"
        version = "1.0"
        evaluator_types = (Polite, brief)

        def create_evaluator(self, word: str = "thanks"):
            return Polite(word)

        def on_test_end(self, test_name, record):
            print("heard of", test_name)
"""


@pytest.fixture
def install(folder, monkeypatch):
    """Installs a package of one module, with entry points."""

    def install(text=TONE, *, module="tone_offer", **entry_points):
        site = folder / ".site"
        info = site / f"{module}-1.2.dist-info"
        info.mkdir(parents=True)
        (site / f"{module}.py").write_text(dedent(text), encoding="utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.2\n")
        lines = [
            f"{name} = {value}" for name, value in (entry_points or {"tone": f"{module}:TonePlugin"}).items()
        ]
        (info / "entry_points.txt").write_text("\n".join(["[calipers.plugins]", *lines]))
        monkeypatch.syspath_prepend(str(site))

    yield install
    for name in [name for name in sys.modules if name.startswith("calipers_plugins_")]:
        del sys.modules[name]


# ---------------------------------------------------------------------- the list


def test_where_there_are_none_it_says_how_they_would_come(calipers):
    done = calipers("plugins")
    assert done.exit_code == 0
    assert "no installed package has an entry point of the group" in done.stdout


def test_installed_plugins_are_listed_with_what_they_provide_and_where_they_come_from(calipers, install):
    install()
    done = calipers("plugins")
    assert done.exit_code == 0
    assert " ".join(done.stdout.split()) == (
        "Plugins: tone 1.0 evaluator; from tone_offer 1.2, tone_offer:TonePlugin; evaluators: Polite, brief, tone; "
        "hooks: on_test_end"
    )


def test_what_failed_is_listed_and_the_exit_code_says_so(calipers, install, write):
    install("raise SystemExit('not today')", tone="tone_offer:TonePlugin", late="tone_offer")
    write("plugins/fine.py", TONE)
    write("plugins/odd.py", "")
    done = calipers("plugins", "--directory", "plugins", "--directory", "nowhere", env={"COLUMNS": "200"})
    assert done.exit_code == 3
    assert "tone 1.0  evaluator; from plugins/fine.py" in done.stdout
    shown = " ".join(done.stdout.partition("Not loaded:")[2].split())
    assert "late import failed: SystemExit: not today (from tone_offer 1.2, tone_offer)" in shown
    assert "tone import failed: SystemExit: not today (from tone_offer 1.2, tone_offer:TonePlugin)" in shown
    assert "odd there is no plugin in it: " in shown
    assert "nowhere find failed: FileNotFoundError" in shown
    assert done.stderr == ""


def test_debug_shows_where_a_plugin_failed(calipers, write):
    write("plugins/broken.py", "def helper():\n    return 1 / 0\n\nhelper()\n")
    done = calipers("plugins", "--directory", "plugins", "--debug")
    assert done.exit_code == 3
    assert "broken (plugins/broken.py): import failed: ZeroDivisionError" in done.stderr
    assert "in helper" in done.stderr


def test_everything_is_data_on_request_whatever_a_plugin_prints(calipers, write):
    write("plugins/loud.py", "print('noise')\nimport os\nos.write(1, b'more noise')\n" + dedent(TONE))
    write(
        "plugins/second.py", "from calipers.plugins import PluginBase\nclass P(PluginBase):\n name = 'tone'"
    )
    done = calipers("plugins", "--directory", "plugins", "--json")
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert found["plugins"] == [
        {
            "name": "tone",
            "version": "1.0",
            "types": ["evaluator"],
            "summary": "Judges the tone.",
            "evaluators": ["Polite", "brief", "tone"],
            "hooks": ["on_test_end"],
            "source": {"origin": "file", "place": "plugins/loud.py", "package": None},
        }
    ]
    (failure,) = found["failures"]
    assert (failure["plugin"], failure["stage"], failure["count"]) == ("tone", "duplicate", 1)
    assert "noise" in done.stderr


def test_what_a_plugin_says_cannot_command_a_terminal(calipers, write):
    write("plugins/evil.py", "raise ValueError('\\x1b[2J gone')")
    done = calipers("plugins", "--directory", "plugins", "--debug")
    assert "\x1b" not in done.stdout + done.stderr
    assert "\\x1b[2J gone" in done.stdout


def test_a_plugin_is_unloaded_again_and_may_fail_at_it(calipers, write):
    write(
        "plugins/a.py",
        "from calipers.plugins import PluginBase\nclass P(PluginBase):\n name = 'a'\n def on_unload(self): 1 / 0",
    )
    done = calipers("plugins", "--directory", "plugins", env={"COLUMNS": "100"})
    assert done.exit_code == 3
    assert "on_unload failed: ZeroDivisionError" in done.stdout


# ---------------------------------------------------------------------- evaluators


def test_the_evaluators_of_installed_plugins_are_listed_with_the_others(calipers, install):
    install()
    shown = calipers("evaluators").stdout
    assert "Evaluators of plugins:" in shown
    listed = shown.partition("Evaluators of plugins:")[2]
    assert "Polite  The output has a polite word. Plugin: tone." in " ".join(listed.split("\n"))
    assert {"Polite", "brief", "tone"} <= set(listed.split())
    every = json.loads(calipers("evaluators", "--json").stdout)
    assert [each["name"] for each in every if each["plugin"] == "tone"] == ["Polite", "brief", "tone"]


@pytest.mark.parametrize(
    ("name", "parameter", "in_a_file"),
    [
        ("Polite", "word  str, default 'please'. Which word.", "- Polite"),
        ("brief", "words  int, required.", "- brief: WORDS"),
        ("tone", "word  str, default 'thanks'.", "- tone"),
    ],
)
def test_an_evaluator_of_a_plugin_is_described_like_any_other(calipers, install, name, parameter, in_a_file):
    install()
    done = calipers("evaluators", name)
    assert done.exit_code == 0
    assert parameter in done.stdout
    assert f"In a dataset file:\n  evaluators:\n    {in_a_file}" in done.stdout


def test_a_plugin_that_fails_keeps_no_evaluator_from_being_listed(calipers, install):
    install("1 / 0")
    done = calipers("evaluators")
    assert done.exit_code == 0
    assert "Contains" in done.stdout
    assert "1 plugin could not be loaded: `calipers plugins` says why" in done.stderr


def test_a_built_in_evaluator_is_described_without_loading_any_plugin(calipers, install):
    install("raise AssertionError('it was not asked for')")
    done = calipers("evaluators", "Contains")
    assert (done.exit_code, done.stderr) == (0, "")


# ---------------------------------------------------------------------- --plugin


@pytest.fixture
def cases(write):
    write("app.py", "def answer(inputs):\n    return inputs\n")
    return write(
        "cases.yaml",
        """
        cases: [{name: one, inputs: please and thanks}, {name: two, inputs: please}]
        evaluators: [Polite, {brief: 3}, tone]
        """,
    )


RUN = ("run", "cases.yaml", "--task", "app:answer")


@pytest.mark.parametrize(
    "options", [(), ("--plugin", "tone"), ("--plugin", "to*", "--no-plugins"), ("--plugin", "*")]
)
def test_installed_plugins_take_part_in_a_run(calipers, install, cases, options):
    install()
    done = calipers(*RUN, *options, "--json")
    assert done.exit_code == 1
    (evaluation,) = json.loads(done.stdout)["evaluations"]
    rates = {name: each["estimate"]["value"] for name, each in evaluation["report"]["summaries"].items()}
    assert rates == {"Polite": 1.0, "brief": 1.0, "Polite_2": 0.5}
    assert sorted(line for line in done.stderr.splitlines() if "heard" in line) == [
        "heard of one",
        "heard of two",
    ]


def test_a_folder_of_plugins_is_named_by_its_path(calipers, cases, write):
    write("plugins/tone.py", TONE)
    assert calipers("check", "cases.yaml", "--plugin", "./plugins").exit_code == 0
    assert calipers("check", "cases.yaml", "--plugin", "plugins/").exit_code == 0
    assert calipers(*RUN, "--plugin", "./plugins", "--quiet").exit_code == 1
    schema = json.loads(calipers("schema", "--plugin", "./plugins").stdout)
    assert "tone" in schema["$defs"]["dataset.evaluator"]["anyOf"][2]["properties"]


def test_installed_plugins_can_be_left_out(calipers, install, cases):
    install("raise AssertionError('this plugin was left out')")
    done = calipers(*RUN, "--no-plugins")
    assert done.exit_code == 3
    assert "no evaluator is called 'Polite'; name your own with --evaluator-type" in done.stderr
    assert "install the plugin that has it" in done.stderr
    assert "tone_offer" not in sys.modules


def test_the_projects_file_leaves_installed_plugins_out_or_names_some(calipers, install, cases, write):
    install("raise AssertionError('this plugin was left out')")
    write("calipers.toml", "plugins = false")
    assert "no evaluator is called 'Polite'" in calipers(*RUN).stderr
    assert "tone_offer" not in sys.modules
    write("plugins/tone.py", TONE)
    write("calipers.toml", "plugins = ['./plugins']")
    assert calipers("check", "cases.yaml").exit_code == 0
    assert "tone_offer" not in sys.modules
    assert calipers("check", "cases.yaml", "--no-plugins").exit_code != 0
    write("calipers.toml", "plugins = false")
    assert calipers("check", "cases.yaml", "--plugin", "./plugins").exit_code == 0


def test_a_plugin_that_the_projects_file_names_has_to_be_there(calipers, cases, write):
    write("calipers.toml", "plugins = ['nowhere']")
    done = calipers("check", "cases.yaml")
    assert done.exit_code == 2
    assert "calipers.toml" in done.stderr
    assert "nowhere" in done.stderr


def test_an_installed_plugin_that_fails_is_pointed_out_and_stops_nothing(calipers, install, write_eval):
    install("1 / 0")
    write_eval("def eval_numbers():\n    return numbers(1, 2), task\n")
    done = calipers("run", "--quiet")
    assert (done.exit_code, done.stderr) == (
        0,
        "1 plugin could not be loaded: `calipers plugins` says why\n",
    )


@pytest.mark.parametrize(
    "command", [RUN, ("check", "cases.yaml"), ("schema",)], ids=lambda command: command[0]
)
def test_a_plugin_that_is_not_there_is_wrong_usage_and_one_that_fails_an_error(
    calipers, install, cases, command
):
    install("1 / 0")
    done = calipers(*command, "--plugin", "tune")
    assert done.exit_code == 2
    assert "no plugin 'tune' is installed: there are 'tone'" in done.stderr
    done = calipers(*command, "--plugin", "tone")
    assert done.exit_code == 3
    assert "tone (tone_offer 1.2, tone_offer:TonePlugin): import failed: ZeroDivisionError" in done.stderr
    assert calipers(*command, "--plugin", "./none").exit_code == 2


def test_hooks_are_called_for_evaluations_in_python_too(calipers, install, write_eval):
    install()
    write_eval("def eval_numbers():\n    return numbers(1, 2), task\n")
    done = calipers("run", "--plugin", "tone", "--json")
    assert done.exit_code == 0
    assert done.stderr.count("heard of") == 2


def test_a_hook_that_fails_is_an_error_unless_errors_are_allowed(calipers, write, write_eval):
    write(
        "plugins/a.py",
        """
        from calipers.plugins import PluginBase
        class P(PluginBase):
            name = "clumsy"
            def on_test_end(self):
                1 / 0
        """,
    )
    write_eval("def eval_numbers():\n    return numbers(1, 2), task\n")
    done = calipers("run", "--plugin", "./plugins", "--quiet")
    assert done.exit_code == 3
    assert calipers("run", "--plugin", "./plugins", "--quiet", "--allow-errors").exit_code == 0
    told = "plugin clumsy (plugins/a.py): on_test_end failed (2 times): ZeroDivisionError: division by zero"
    assert done.stderr == f"Error: {told}\n"
    again = json.loads(calipers("run", "--plugin", "./plugins", "--json").stdout)
    assert again["outcome"] == "errored"
    assert [problem.startswith("plugin clumsy") for problem in again["problems"]] == [True]


# ---------------------------------------------------------------------- views


VIEWS = """
from pathlib import Path

from calipers.plugins import ViewPlugin

class Tally(ViewPlugin):
    name = "tally"

    def create_view(self):
        print("made")

        def tally(report):
            print("drawn")
            return f"{report.name}: {len(report.cases)}\\n"

        return tally


class Site:
    def write(self, report, path):
        print("written")
        Path(path).mkdir(exist_ok=True)
        (Path(path) / "index.txt").write_text(report.name)


class SitePlugin(ViewPlugin):
    name = "site"

    def create_view(self):
        return Site()


class BrokenPlugin(ViewPlugin):
    name = "broken"

    def create_view(self):
        return lambda report: report.no_such_thing


class LostPlugin(ViewPlugin):
    name = "lost"

    def create_view(self):
        raise OSError("no template")
"""


@pytest.fixture
def views(write, write_eval):
    write("plugins/views.py", VIEWS)
    write_eval("def eval_numbers():\n    return numbers(1, 2), task\n")


PLUGIN = ("--plugin", "./plugins")


def test_out_writes_by_the_view_of_a_plugin_under_its_name(calipers, views, folder):
    done = calipers("run", *PLUGIN, "--quiet", "--out", "tally:out/{name}.json", "--out", "report.json")
    assert done.exit_code == 0, done.output
    assert (folder / "out" / "numbers.json").read_text() == "task: 2\n"
    for _ in range(2):
        done = calipers("run", *PLUGIN, "--out", "site:public", "--out", "site:other/")
        assert done.exit_code == 0, done.output
        assert "Wrote public\nWrote other/\n" in done.stderr
    assert (folder / "other" / "index.txt").read_text() == "task"
    done = calipers("show", "report.json", *PLUGIN, "--to", "site:public", "--to", "tally:tally.txt")
    assert (done.exit_code, done.stdout) == (0, "")
    assert (folder / "tally.txt").read_text() == "task: 2\n"


def test_only_the_report_goes_to_standard_output_whatever_a_view_prints(calipers, views, folder):
    done = calipers("run", *PLUGIN, "--out", "tally:-", "--out", "site:public")
    assert (done.exit_code, done.stdout) == (0, "task: 2\n")
    done = calipers("run", *PLUGIN, "--json", "--out", "tally:tally.txt", "--out", "site:public")
    assert json.loads(done.stdout)["evaluations"][0]["files"] == ["tally.txt", "public"]
    assert {"made", "drawn", "written"} <= set(done.stderr.split())
    calipers("run", "--quiet", "--out", "report.json")
    done = calipers("show", "report.json", *PLUGIN, "--to", "tally:-")
    assert (done.exit_code, done.stdout) == (0, "task: 2\n")


def test_a_view_that_fails_is_an_error_and_the_other_files_are_written(calipers, views, folder):
    done = calipers("run", *PLUGIN, "--quiet", "--out", "broken:a.txt", "--out", "b.json")
    assert done.exit_code == 3
    why = "the view 'broken' failed: AttributeError: 'Report' object has no attribute 'no_such_thing'"
    assert f"Error: 'a.txt' could not be written: {why}" in done.stderr
    assert (folder / "b.json").exists()
    assert not (folder / "a.txt").exists()
    assert "Traceback" in calipers("run", *PLUGIN, "--debug", "--out", "broken:a.txt").stderr
    done = calipers("show", "b.json", *PLUGIN, "--to", "broken:-")
    assert (done.exit_code, done.stdout) == (3, "")
    assert f"Error: {why}" in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--out", "lost:a.txt"], 3, "create_view of the plugin 'lost' failed: OSError: no template"),
        (["--out", "site:-"], 2, "the view 'site' does not write to standard output: name a file"),
        (["--out", "tally:."], 2, "--out '.' is a folder: name a file in it"),
        (
            ["--out", "taly:a.txt"],
            2,
            "no report format is called 'taly', did you mean 'tally'? Known are json,",
        ),
        (["--out", "site:eval_numbers.py"], 2, "would overwrite a file that the run is made of"),
        (["--out", "tally:a.txt", "--out", "site:./a.txt"], 2, "two --out write to './a.txt'"),
        (["--out", "tally:-", "--json"], 2, "--json and --out to standard output ('-') exclude each other"),
    ],
)
def test_a_view_that_cannot_be_used_is_told_before_anything_runs(calipers, views, args, code, message):
    done = calipers("run", *PLUGIN, *args)
    assert done.exit_code == code
    assert message in done.stderr
    assert "Passed" not in done.output


def test_a_view_has_to_be_asked_for(calipers, views, folder):
    assert "'tally:a', which has no suffix" in calipers("run", "--out", "tally:a").stderr
    assert calipers("run", *PLUGIN, "--quiet", "--out", "report.json").exit_code == 0
    done = calipers("show", "report.json", *PLUGIN)
    assert done.exit_code == 2
    assert "--plugin is for --to, which may name the view of a plugin: give both" in done.stderr
    assert calipers("show", "report.json", "--plugin", "missing", "--to", "tally:-").exit_code == 2


# ---------------------------------------------------------------------- adapters


ADAPTERS = """
from calipers import Trace
from calipers.plugins import AdapterPlugin, EvaluatorPlugin


class Echo:
    name = "echo"

    async def invoke(self, input_text):
        return Trace(input_text=input_text, output_text=input_text.upper())


class EchoPlugin(AdapterPlugin, EvaluatorPlugin):
    name = "acme/echo"

    def create_adapter(self):
        return Echo()

    def create_evaluator(self):
        return lambda output: output.isupper()


class LostPlugin(AdapterPlugin):
    name = "lost"

    def create_adapter(self):
        raise OSError("no model")


class WrongPlugin(AdapterPlugin):
    name = "wrong"

    def create_adapter(self):
        return 5
"""


@pytest.fixture
def adapters(write):
    write("plugins/adapters.py", ADAPTERS)
    write("cases.yaml", "{cases: [{inputs: hello}], evaluators: [acme/echo]}")


def test_a_task_may_be_the_adapter_of_a_plugin(calipers, adapters, folder):
    done = calipers("run", "cases.yaml", "--task", "plugin:acme/echo", *PLUGIN, "--out", "report.json")
    assert done.exit_code == 0, done.output
    report = read_report(folder / "report.json")
    assert (report.name, report.cases[0].output) == ("echo", "HELLO")
    assert report.cases[0].trace.input_text == "hello"


def test_a_module_called_plugin_is_named_by_its_file(calipers, adapters, write):
    write("plugin.py", "def answer(inputs):\n    return inputs.upper()\n")
    assert calipers("run", "cases.yaml", *PLUGIN, "--task", "plugin.py:answer").exit_code == 0


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (
            ["plugin:echo", *PLUGIN],
            2,
            "is called 'echo', there is 'acme/echo', 'lost', 'wrong'; for a module",
        ),
        (["plugin:", *PLUGIN], 2, "no plugin with an adapter is called ''"),
        (
            ["plugin:acme/echo"],
            2,
            "there is none; for a module called plugin, write plugin.py:acme/echo",
        ),
        (["plugin:lost", *PLUGIN], 3, "create_adapter of the plugin 'lost' failed: OSError: no model"),
        (
            ["plugin:wrong", *PLUGIN],
            3,
            "create_adapter of the plugin 'wrong' must return an object with invoke",
        ),
    ],
)
def test_an_adapter_that_cannot_be_used_is_told_before_anything_runs(calipers, adapters, args, code, message):
    done = calipers("run", "cases.yaml", "--task", *args)
    assert done.exit_code == code
    assert message in done.stderr
    assert "Passed" not in done.output
