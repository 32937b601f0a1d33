PLUGINS = ("calipers.pytest_plugin", "xdist.plugin")

FORGED = """
hostile = Dataset(cases=[Case(name="::error::forged", inputs=1, expected_output=2)], evaluators=[EqualsExpected()])

@pytest.mark.calipers(hostile, task=str)
def test_it(): ...
"""


def test_in_github_actions_nothing_in_the_summary_is_a_command(folder):
    folder.write("test_it.py", FORGED)
    for plugins, more in (PLUGINS[:1], []), (PLUGINS, ["-n1"]):
        lines = folder.pytest("-q", *more, plugins=plugins, GITHUB_ACTIONS="true").out.splitlines()
        (start,) = (number for number, line in enumerate(lines) if line.startswith("::stop-commands::"))
        end = lines.index(f"::{lines[start].removeprefix('::stop-commands::')}::")
        commands = [number for number, line in enumerate(lines) if line.startswith("::error")]
        assert commands, "pytest shows the name of the case at the beginning of a line"
        assert all(start < number < end for number in commands)
        assert any(start < number < end for number, line in enumerate(lines) if "= calipers =" in line)
    elsewhere = folder.pytest("-q", GITHUB_ACTIONS="")
    assert "stop-commands" not in elsewhere.out
    folder.write("test_it.py", "def test_ordinary(): ...\n")
    assert "stop-commands" not in folder.pytest("-q", GITHUB_ACTIONS="true").out, "nothing was measured"
