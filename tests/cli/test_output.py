"""Reports on standard output."""

import pytest

from calipers import Case, Dataset
from calipers.cli.output import show_report


@pytest.mark.parametrize("in_github", [True, False])
def test_in_a_github_log_what_a_model_wrote_is_no_command(in_github, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_ACTIONS", str(in_github).lower())
    cases = [Case(name="c", inputs="x", expected_output="y")]
    dataset = Dataset(cases=cases, evaluators=[lambda output: False])
    report = dataset.evaluate_sync(lambda inputs: "\n::error::forged\n##[error]forged", progress=False)
    show_report(report)
    shown = capsys.readouterr().out
    assert shown.startswith("::stop-commands::") is in_github
    if in_github:
        token = shown.splitlines()[0].removeprefix("::stop-commands::")
        assert shown.rstrip().endswith(f"::{token}::")


def test_the_limit_of_a_list_is_lifted_by_an_option_of_the_command(capsys):
    dataset = Dataset(cases=[Case(inputs=n) for n in range(3)], evaluators=[lambda output: False])
    show_report(dataset.evaluate_sync(str, progress=False), max_cases=1)
    assert "and 2 more (--max-cases 0 shows all)" in capsys.readouterr().out
