import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from calipers.errors import PluginError
from calipers.plugins.requirement import satisfies

numbers = st.integers(0, 3)
releases = st.lists(numbers, min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
# Without post-releases: versions of the tools do not agree where those meet pre-releases. The examples are undisputed.
suffixes = st.sampled_from(["", "", "", "a1", "b2", "rc1", ".dev2", "rc1.dev0", "a", "-beta.1"])
versions = st.builds("{}{}".format, releases, suffixes)
clauses = st.builds("{}{}".format, st.sampled_from(["==", "!=", "<=", ">=", "<", ">"]), versions) | st.builds(
    "{}{}.*".format, st.sampled_from(["==", "!="]), releases
)
compatible = st.builds("~={}.{}{}".format, numbers, releases, suffixes)


@given(versions, st.lists(clauses | compatible, min_size=1, max_size=3).map(",".join))
@example("1.0.post1", ">1.0")
@example("1.0.post1", ">=1.0")
@example("1.0.post1", "==1.0")
@example("1.0.post1", "~=1.0")
@example("1.0.post2", ">1.0.post1")
@example("1.0.post1", "<1.0.1")
@example("1.0.post1.dev1", "<1.0.post1")
@example("1.0", "<1.0.post1")
@example("1.0rc1", "<1.0")
@example("1.0rc1", "<1.0rc2")
@example("1.0.dev1", "<1.0a1")
@example("1.2.3", "~=1.2.0")
def test_a_requirement_means_what_it_means_to_the_tools_of_python(version, requirement):
    assert satisfies(version, requirement) is SpecifierSet(requirement).contains(version, prereleases=True)


@pytest.mark.parametrize(
    ("requirement", "holds"),
    [(">=0.1", True), (" >= 0.1 , < 2 ", True), (">=0.2", False), ("==0.1.*", True), ("~=0.1", True)],
)
def test_clauses_are_joined_by_commas_and_spaces_do_not_matter(requirement, holds):
    assert satisfies("0.1.0", requirement) is holds


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ("0.1", "'0.1' is no requirement of a version"),
        ("", "'' is no requirement of a version"),
        (",", "',' is no requirement of a version"),
        (">=1.0,=2", "'=2' is no requirement"),
        (">=one", "'one' is no version: expected numbers with dots"),
        (">=1.*", "only == and != can be followed"),
        ("~=1", "~= needs two numbers"),
        ("===1.0", "'=1.0' is no version"),
    ],
)
def test_what_cannot_be_read_is_told(requirement, message):
    with pytest.raises(PluginError, match=message.replace("*", r"\*")):
        satisfies("0.1.0", requirement)
