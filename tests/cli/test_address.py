import sys

import pytest

from calipers.cli.address import load_file, load_module, load_object, split_address
from calipers.cli.message import CommandError, UserCodeError


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("app:answer", ("app", "answer")),
        ("app.sub:Agent.answer", ("app.sub", "Agent.answer")),
        ("dir/app.py:answer", ("dir/app.py", "answer")),
        ("t:echo", ("t", "echo")),
        ("app", ("app", None)),
        (":answer", (":answer", None)),
        ("C:app.py", ("C:app.py", None)),
        ("C:\\evals\\app.py", ("C:\\evals\\app.py", None)),
        ("app.py", ("app.py", None)),
        (r"C:/evals/app.py", (r"C:/evals/app.py", None)),
        (r"C:/evals/app.py:answer", (r"C:/evals/app.py", "answer")),
    ],
)
def test_an_address_is_a_module_or_file_and_a_name(address, parts):
    assert split_address(address) == parts


def test_a_file_is_imported_beside_its_siblings_and_the_current_folder(write):
    write("shared.py", "here = 1")
    write("sub/sibling.py", "there = 2")
    path = write("sub/eval_a.py", "from shared import here\nfrom sibling import there\nboth = here, there\n")
    assert load_file(path).both == (1, 2)


def test_a_file_in_a_package_may_import_relatively(write):
    write("pack/__init__.py", "")
    write("pack/sub/__init__.py", "")
    write("pack/shared.py", "value = 3")
    path = write("pack/sub/eval_a.py", "from ..shared import value\n")
    module = load_file(path)
    assert (module.__name__, module.value) == ("pack.sub.eval_a", 3)


def test_files_of_one_name_are_two_modules_and_one_file_is_loaded_once(write):
    first, second = write("a/eval_x.py", "which = 1"), write("b/eval_x.py", "which = 2")
    assert (load_file(first).which, load_file(second).which) == (1, 2)
    assert load_file(first) is load_file(first)
    assert sys.modules[load_file(second).__name__] is load_file(second)


def test_classes_of_a_loaded_file_know_their_module(write):
    path = write(
        "eval_d.py",
        """
        import pickle
        from dataclasses import dataclass

        @dataclass
        class Point:
            x: "int"

        copy = pickle.loads(pickle.dumps(Point(1)))
        """,
    )
    assert load_file(path).copy.x == 1


def test_a_file_named_like_a_module_that_is_loaded_does_not_get_that_one(write):
    path = write("json.py", "mine = True")
    assert load_file(path).mine
    assert not hasattr(sys.modules["json"], "mine")


def test_a_package_of_the_same_name_that_is_loaded_already_does_not_stand_in(write):
    for folder in ("one", "two"):
        write(f"{folder}/pack/__init__.py", "")
    first, second = write("one/pack/eval_x.py", "which = 1"), write("two/pack/eval_x.py", "which = 2")
    assert (load_file(first).which, load_file(second).which) == (1, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:\n", "SyntaxError"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)\n", "SystemExit: 3"),
        ("import nowhere_at_all\n", "No module named 'nowhere_at_all'"),
    ],
)
@pytest.mark.parametrize("load", [load_file, lambda path: load_module(path.stem)], ids=["file", "module"])
def test_what_a_module_raises_is_shown_and_the_module_is_forgotten(write, text, said, load):
    path = write("eval_bad.py", text)
    with pytest.raises(UserCodeError, match=r"importing eval_bad(\.py)? failed") as raised:
        load(path)
    assert said in raised.value.message
    assert "loading.py" not in raised.value.message
    assert "eval_bad" not in sys.modules


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("app", "'app' names no object: write module:name, or path/to/file.py:name"),
        ("not_here:f", "module not found: not_here"),
        ("app.not_here:f", "module not found: app.not_here"),
        ("not/here.py:f", "file not found: not/here.py"),
        ("not a module:f", "'not a module' is not a file and not the name of a module"),
        ("app:anser", "app has no 'anser'; did you mean 'answer'?"),
        ("app:answer.more", "app has no 'answer.more'"),
    ],
)
def test_an_address_that_leads_nowhere_says_where_it_ended(write, address, message):
    write("app.py", "def answer(): ...\n")
    with pytest.raises(CommandError) as raised:
        load_object(address)
    assert message in raised.value.message
    assert raised.value.code == 2


def test_an_address_may_lead_into_a_class(write):
    write("app.py", "class Agent:\n    def answer(self): ...\n")
    assert load_object("app:Agent.answer").__name__ == "answer"
