"""What tells tasks apart: everything their code names, and nothing about how it is laid out."""

import functools

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
        "closure make.<locals>.task.n changed from 1 to 2"
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


def test_what_coordinates_or_logs_does_not_matter(project):
    source = """
    import logging, threading
    from contextvars import ContextVar
    log = logging.getLogger(__name__)
    lock = threading.Lock()
    current = ContextVar("current")
    def task(x):
        with lock:
            log.info(x)
            current.set(x)
        return x
    """
    assert list(identity(project, source).parts) == ["source"]


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
