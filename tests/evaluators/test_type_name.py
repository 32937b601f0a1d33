import pytest

from calipers.errors import InvalidOptionError
from calipers.evaluators import EvaluationReason, IsInstance


class Base:
    class Inner:
        pass


class Derived(Base):
    pass


@pytest.mark.parametrize(
    ("type_name", "output", "passes"),
    [
        ("dict", {}, True),
        ("Derived", Derived(), True),
        ("Base", Derived(), True),
        ("object", Derived(), True),
        ("Derived", Base(), False),
        ("Base.Inner", Base.Inner(), True),
        ("Inner", Base.Inner(), True),
        (f"{__name__}.Base.Inner", Base.Inner(), True),
        ("elsewhere.Base.Inner", Base.Inner(), False),
        ("int", True, True),
        ("bool", 1, False),
        ("NoneType", None, True),
        ("type", Base, True),
        ("Base", Base, False),
        ("Dict", {}, False),
    ],
)
def test_the_name_is_looked_for_in_all_the_type_inherits(judge, type_name, output, passes):
    assert judge(IsInstance(type_name), output).value is passes


def test_the_reason_names_the_type(judge):
    assert judge(IsInstance("str"), 5) == EvaluationReason(
        value=False, reason="expected an instance of str, got int: 5"
    )


@pytest.mark.parametrize("type_name", [int, "", None])
def test_the_type_is_given_by_name(type_name):
    with pytest.raises(InvalidOptionError, match="type_name of IsInstance must be a text"):
        IsInstance(type_name)
