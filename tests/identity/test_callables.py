"""What tells tasks apart: everything their code names, and nothing about how it is laid out."""

import functools
import sys

import pytest

from calipers.identity import Identity, Unknown, differences, task_identity

HELPERS = """
LIMIT = 3

def clean(text):
    return text.strip()[:LIMIT]

def unrelated():
    return 1
"""

TASK = """
import helpers
from helpers import clean

PROMPT = "Say it."

def inner(text):
    return clean(text) + PROMPT

def task(text, times=2):
    return inner(text) * times + helpers.clean(text)
"""


def identity(project, tasks=TASK, helpers=HELPERS, name="task"):
    found = task_identity(getattr(project.load(helpers=helpers, tasks=tasks), name))
    assert isinstance(found, Identity), found
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def inner(text):", "# a comment\n\n\ndef inner( text ):"),
        ('PROMPT = "Say it."', "PROMPT = 'Say it.'"),
        ("def task(text, times=2):", 'def task(text, times=2):\n    """What it does."""'),
        ("import helpers\n", "import helpers, os\n"),
    ],
    ids=["layout", "quotes", "docstring", "unused import"],
)
def test_what_does_not_change_the_meaning_does_not_change_the_identity(project, old, new):
    assert old in TASK
    assert identity(project, TASK.replace(old, new)) == identity(project)


def test_a_helper_that_is_not_named_does_not_matter(project):
    other = HELPERS.replace("return 1", "return 2")
    assert identity(project, helpers=other) == identity(project)


@pytest.mark.parametrize(
    ("where", "old", "new", "said"),
    [
        ("tasks", "* times", "* 3", ["its source changed"]),
        ("tasks", "clean(text) + PROMPT", "PROMPT + clean(text)", ["helper tasks.inner() changed"]),
        ("tasks", '"Say it."', '"Say it again."', ["global tasks.PROMPT changed"]),
        ("helpers", ".strip()", ".rstrip()", ["helper helpers.clean() changed"]),
        ("helpers", "LIMIT = 3", "LIMIT = 4", ["global helpers.LIMIT changed from 3 to 4"]),
    ],
    ids=["source", "helper", "prompt", "helper of another module", "what a helper reads"],
)
def test_a_change_of_anything_that_the_task_names_is_noticed_and_said(project, where, old, new, said):
    texts = {"tasks": TASK, "helpers": HELPERS}
    assert old in texts[where]
    texts[where] = texts[where].replace(old, new)
    before, after = identity(project), identity(project, **texts)
    assert before.key != after.key
    assert differences(before.parts, after.parts) == said


def test_a_default_that_is_computed_counts_by_its_value(project):
    source = "SIZE = {}\ndef task(x, size=SIZE):\n    return size\n"
    one, two = (identity(project, source.format(size)) for size in (1, 2))
    assert one.key != two.key


def test_what_a_closure_holds_counts(project):
    source = "def make(n):\n    def task(x):\n        return x + n\n    return task\n"
    make = project.load(tasks=source).make
    assert task_identity(make(1)) == task_identity(make(1))
    assert differences(task_identity(make(1)).parts, task_identity(make(2)).parts) == [
        "closure tasks.make.<locals>.task.n changed from 1 to 2"
    ]


def test_two_lambdas_of_one_line_are_told_apart(project):
    module = project.load(
        tasks="pair = [lambda x: x + 1, lambda x: x + 2]\nnested = lambda x: (lambda y: y + x)(x)\n"
    )
    one, two = map(task_identity, module.pair)
    assert isinstance(one, Identity)
    assert isinstance(two, Identity)
    assert one.key != two.key
    assert isinstance(task_identity(module.nested), Identity)


def test_what_a_partial_binds_counts(project):
    task = project.load(tasks="def task(x, n):\n    return x + n\n").task
    found = {task_identity(functools.partial(task, n=n)).key for n in (1, 1, 2)}
    assert len(found) == 2


def test_a_cached_function_is_what_it_wraps(project):
    source = "import functools\n@functools.lru_cache\ndef task(x):\n    return {}\n"
    assert identity(project, source.format("x")).key != identity(project, source.format("-x")).key


def test_the_docstring_of_what_is_only_called_does_not_count(project):
    source = """
    def helper(x):
        "One."
        return x
    class Agent:
        "One."
        def __call__(self, x):
            "One."
            return helper(x)
    task = Agent()
    """
    assert identity(project, source) == identity(project, source.replace("One.", "Two."))


def test_a_decorator_counts_and_so_does_what_it_decorates(project):
    source = """
    import functools

    def twice(function):
        @functools.wraps(function)
        def call(x):
            return function(function(x))
        return call

    @twice
    def task(x):
        return x + 1
    """
    original = identity(project, source)
    assert identity(project, source.replace("x + 1", "x + 2")).key != original.key
    assert identity(project, source.replace("function(function(x))", "function(x)")).key != original.key


OBJECT = """
class Base:
    def greeting(self):
        return "Hello"

class Agent(Base):
    def __init__(self, model, tools=()):
        self.model = model
        self.tools = list(tools)

    def __call__(self, text):
        return self.greeting() + text

def search(query):
    return query
"""


def test_an_object_is_its_class_its_base_classes_and_its_attributes(project):
    module = project.load(tasks=OBJECT)
    original = task_identity(module.Agent("a"))
    assert task_identity(module.Agent("a")) == original
    assert differences(original.parts, task_identity(module.Agent("b")).parts) == ["field model changed"]
    edited = project.load(tasks=OBJECT.replace('"Hello"', '"Hi"')).Agent("a")
    assert differences(original.parts, task_identity(edited).parts) == ["helper tasks.Base changed"]


def test_functions_that_an_object_holds_are_looked_into(project):
    module = project.load(tasks=OBJECT)
    other = project.load(tasks=OBJECT.replace("return query", "return query + '!'"))
    one, two = (task_identity(m.Agent("a", tools=[m.search])) for m in (module, other))
    assert differences(one.parts, two.parts) == ["helper tasks.search() changed"]


def test_a_bound_method_is_its_object_and_its_name(project):
    source = "class A:\n    def one(self, x): return x\n    def two(self, x): return -x\n"
    made = project.load(tasks=source).A()
    assert task_identity(made.one).key != task_identity(made.two).key


def test_a_module_that_is_imported_inside_the_function_counts_as_a_whole(project):
    source = "def task(x):\n    from helpers import clean\n    return clean(x)\n"
    before = identity(project, source)
    after = identity(project, source, HELPERS.replace(".strip()", ".rstrip()"))
    assert differences(before.parts, after.parts) == ["module helpers changed"]


def test_libraries_are_known_by_their_version_and_python_itself_by_nothing(project):
    found = identity(
        project, "import json\nimport msgspec\ndef task(x):\n    return json.dumps(msgspec.to_builtins(x))\n"
    )
    assert [label for label in found.parts if label.startswith("library")] == ["library msgspec"]


def test_docstrings_count_where_a_framework_may_read_them(project):
    source = 'def tool(f):\n    return f\n\n@tool\ndef search(q):\n    """{}"""\n\ndef task(x):\n    return search(x)\n'
    assert identity(project, source.format("Find.")).key != identity(project, source.format("Look.")).key


def test_a_declared_version_stands_for_everything_else(project):
    one, two = project.load(tasks="def task(x): return 1"), project.load(tasks="def task(x): return 2")
    one.task.version = two.task.version = "7"
    assert task_identity(one.task) == task_identity(two.task)
    assert task_identity(one.task, version="8") != task_identity(one.task)


@pytest.mark.parametrize("version", [True, None, ["1"]], ids=repr)
def test_what_is_no_version_declares_nothing(project, version):
    task = project.load(tasks="def task(x): return 1").task
    task.version = version
    assert "source" in task_identity(task).parts


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("task = eval('lambda x: x')", "<lambda>: its source cannot be read"),
        (
            "import io\nclient = io.StringIO()\ndef task(x):\n    return client.read()\n",
            "global tasks.client: ",
        ),
        (
            "import io\nclass A:\n    def __init__(self): self.file = io.StringIO()\n    def __call__(self, x): return x\ntask = A()",
            "field file: ",
        ),
    ],
    ids=["no source", "open file", "attribute"],
)
def test_what_cannot_be_known_says_why_and_what_to_do(project, source, reason):
    found = task_identity(project.load(tasks=source).task)
    assert isinstance(found, Unknown)
    assert found.reason.startswith(reason)
    assert "task.version = '1'" in found.reason


def test_loggers_do_not_matter(project):
    source = """
    import logging
    log = logging.getLogger(__name__)
    class Agent:
        def __init__(self): self.log = logging.getLogger("agent")
    agent = Agent()
    def task(x):
        log.info(x)
        agent.log
        return x
    """
    assert list(identity(project, source).parts) == ["source", "global tasks.agent", "helper tasks.Agent"]


def test_a_file_that_was_edited_after_it_was_loaded_is_not_taken_for_what_runs(project, tmp_path):
    module = project.load(tasks="def other(a, b): return 1\n\ndef task(x): return 1\n")
    (tmp_path / "0" / "tasks.py").write_text(
        "def task(x): return 2\n\ndef other(a, b): return 1\n", encoding="utf-8"
    )
    found = task_identity(module.task)
    assert isinstance(found, Unknown)
    assert "edited since" in found.reason


def test_secrets_are_not_in_the_parts(project):
    source = 'KEY = "sk-very-secret"\ndef task(x):\n    return KEY\n'
    assert "sk-very-secret" not in str(identity(project, source).parts)


def test_a_task_that_calls_itself_ends(project):
    source = "def task(x):\n    return other(x - 1) if x else 0\ndef other(x):\n    return task(x)\n"
    assert identity(project, source).key == identity(project, source).key


VERSIONED = """
import functools
def upper(x): return x.upper()
def lower(x): return x.lower()
upper.version = lower.version = "1"
def ask(x, model, client=None): return model
ask.version = "1"
class Agent:
    version = "1"
    def __init__(self, model, client=None): self.model, self.client = model, client
    def __call__(self, x): return x
    def other(self, x): return x
class Prefixed:
    def __init__(self, function, prefix):
        functools.update_wrapper(self, function)
        self.prefix = prefix
    def __call__(self, x): return self.prefix + self.__wrapped__(x)
class Own(Agent):
    def __init__(self, model): self.model, self.version = model, "of its own"
    invoke = Agent.__call__
"""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("upper", "lower"),
        ("functools.partial(ask, model='small')", "functools.partial(ask, model='large')"),
        ("functools.partial(ask, 'small')", "functools.partial(ask, 'large')"),
        (
            "functools.partial(ask, client=object(), model='small')",
            "functools.partial(ask, client=object(), model='large')",
        ),
        ("Agent('small')", "Agent('large')"),
        ("Agent('small', object())", "Agent('large', object())"),
        ("Agent('small').__call__", "Agent('small').other"),
        ("Prefixed(upper, 'a')", "Prefixed(upper, 'b')"),
        ("Prefixed(upper, 'a')", "upper"),
        ("Prefixed(upper, 'a')", "Prefixed(lower, 'a')"),
    ],
    ids=[
        "names",
        "bound",
        "bound by place",
        "bound beside a client",
        "fields",
        "beside a client",
        "methods",
        "given to a decorator",
        "decorated or not",
        "what is decorated",
    ],
)
def test_a_version_stands_for_the_source_and_for_nothing_else(project, one, other):
    module = project.load(tasks=VERSIONED)
    found = [task_identity(eval(made, vars(module))) for made in (one, one, other)]
    assert all(isinstance(identity, Identity) for identity in found)
    assert found[0] == found[1]
    assert found[0].key != found[2].key


def test_an_object_that_sets_its_own_version_has_said_what_it_is(project):
    module = project.load(tasks=VERSIONED)
    assert task_identity(module.Own("small")) == task_identity(module.Own("large"))


def test_a_function_that_was_edited_in_place_after_it_was_loaded_has_no_identity(project, tmp_path):
    module = project.load(tasks="def task(x): return 1\nclass A:\n    def go(self, x): return 1\n")
    file = tmp_path / "0" / "tasks.py"
    assert isinstance(task_identity(module.task), Identity)
    assert isinstance(task_identity(module.A().go), Identity)
    file.write_text(file.read_text(encoding="utf-8").replace("return 1", "return 20"), encoding="utf-8")
    for task in (module.task, module.A().go):
        found = task_identity(task)
        assert isinstance(found, Unknown)
        assert "edited since" in found.reason


@pytest.mark.parametrize("kind", ["@staticmethod", "@classmethod", "@property", "@functools.cached_property"])
def test_no_kind_of_method_that_was_edited_after_it_was_loaded_is_taken_for_what_runs(
    project, tmp_path, kind
):
    module = project.load(
        tasks=f"import functools\nclass A:\n    {kind}\n    def limit(*_): return 1\n    def go(self, x): return x\n"
    )
    assert isinstance(task_identity(module.A().go), Identity)
    file = tmp_path / "0" / "tasks.py"
    file.write_text(file.read_text(encoding="utf-8").replace("return 1", "return 20"), encoding="utf-8")
    found = task_identity(module.A().go)
    assert isinstance(found, Unknown)
    assert "edited since" in found.reason


MODULE = """
import functools
from typing import NamedTuple
LIMIT = 3
RULES = {"a": 1}
CACHE = {}
CLIENT = None
WORDS = {"a", "b", "c", 1, 9, 17, 33, 65}
ALL = [1]
ALL.append(LIMIT_OF_ALL := 2)
COUNT = 0
def count():
    global COUNT
    COUNT += 1
    CACHE[COUNT] = 1
@functools.lru_cache
def clean(x): return 4
class Pair(NamedTuple):
    a: int = 1
    @staticmethod
    def made(): return 5
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 30"),
        ('{"a": 1}', '{"a": 10}'),
        ("return 4", "return 40"),
        ("return 5", "return 50"),
    ],
    ids=["value", "mapping", "function", "method"],
)
def test_a_loaded_module_that_was_edited_is_not_what_an_import_inside_a_function_gets(
    project, tmp_path, old, new
):
    task = project.load(
        helpers=MODULE,
        tasks="import helpers\ndef task(x):\n    from helpers import clean\n    return clean(x)\n",
    ).task
    sys.modules["helpers"].count()
    assert isinstance(task_identity(task), Identity)
    file = tmp_path / "0" / "helpers.py"
    assert old in MODULE
    file.write_text(MODULE.replace(old, new), encoding="utf-8")
    found = task_identity(task)
    assert isinstance(found, Unknown)
    assert "edited since" in found.reason


@pytest.mark.parametrize(
    ("modules", "edited"),
    [
        (
            {"limits": "LIMIT = 3\n", "rules": "from limits import LIMIT\ndef clean(x): return LIMIT\n"},
            "limits",
        ),
        (
            {"limits": "def clean(x): return 3\n", "rules": "from limits import clean\n"},
            "limits",
        ),
    ],
    ids=["second hop", "named again"],
)
def test_what_an_import_inside_a_function_imports_in_turn_counts(project, modules, edited):
    task = "def task(x):\n    from rules import clean\n    return clean(x)\n"
    other = {**modules, edited: modules[edited].replace("3", "4")}
    before, same, after = (
        task_identity(project.load(**one, tasks=task).task) for one in (modules, modules, other)
    )
    assert isinstance(before, Identity), before
    assert before == same
    assert differences(before.parts, after.parts) == [f"module {edited} changed"]


class AnswersEverything:
    def __getattr__(self, name):
        return self

    def __call__(self, x):
        return x


class WrapsItself:
    def __init__(self):
        self.__wrapped__ = self

    def __call__(self, x):
        return x


@pytest.mark.parametrize("kind", [AnswersEverything, WrapsItself])
def test_an_object_that_answers_everything_has_an_identity_or_says_why_not(kind):
    assert isinstance(task_identity(kind()), Identity | Unknown)
