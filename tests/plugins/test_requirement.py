"""Which versions of Calipers a plugin works with."""

import pytest

from calipers.errors import PluginError
from calipers.plugins.loaded_plugin import satisfies


@pytest.mark.parametrize(
    ("version", "requirement", "holds"),
    [
        ("0.1.0", ">=0.1", True),
        ("0.1.0", " >= 0.1 , < 2 ", True),
        ("0.1.0", ">=0.2", False),
        ("0.1.0", "==0.1.*", True),
        ("0.1.0", "~=0.1", True),
        ("1.2.3", "~=1.2.0", True),
        ("1.0.post1", ">1.0", False),
        ("1.0.post1", ">=1.0", True),
        ("1.0.post1", "==1.0", False),
        ("1.0.post1", "~=1.0", True),
        ("1.0.post2", ">1.0.post1", True),
        ("1.0.post1", "<1.0.1", True),
        ("1.0.post1.dev1", "<1.0.post1", False),
        ("1.0", "<1.0.post1", True),
        ("1.0rc1", "<1.0", False),
        ("1.0rc1", "<1.0rc2", True),
        ("1.0rc1", ">=0.9", True),
        ("1.0.dev1", "<1.0a1", True),
    ],
)
def test_a_requirement_means_what_it_means_to_the_tools_of_python(version, requirement, holds):
    assert satisfies(version, requirement) is holds


@pytest.mark.parametrize(
    "requirement",
    ["0.1", "", ",", ">=1.0,=2", ">=one", ">=1.*", "~=1", pytest.param("1.0", id="no operator")],
)
def test_a_requirement_that_cannot_be_read_is_refused(requirement):
    with pytest.raises(PluginError) as refused:
        satisfies("0.1.0", requirement)
    assert str(refused.value).startswith(f"{requirement!r} is not a version requirement: write an operator")
