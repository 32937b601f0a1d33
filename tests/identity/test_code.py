"""Whatever a task's code reaches counts: an edit of it is never taken for the same task."""

import pytest

from calipers.identity import Identity, Unknown, differences, evaluator_identity, task_identity

EDITS = {
    "two closures of one factory": (
        """
        def at_least(n):
            def check(text): return len(text) >= n
            return check
        low, middle, high = at_least(3), at_least(3), at_least(10)
        def task(x): return low(x) and middle(x) and not high(x)
        """,
        "at_least(3), at_least(10)",
        "at_least(10), at_least(10)",
    ),
    "two defaults of one factory": (
        """
        def at_least(n):
            def check(text, n=n): return len(text) >= n
            return check
        low, high = at_least(3), at_least(10)
        def task(x): return low(x) and not high(x)
        """,
        "at_least(10)",
        "at_least(4)",
    ),
    "a method named like the global it calls": (
        """
        def score(text): return 3
        class Task:
            def score(self, text): return score(text)
            def __call__(self, x): return self.score(x)
        task = Task()
        """,
        "return 3",
        "return 4",
    ),
    "a method under two decorators": (
        """
        import functools
        def same(function):
            @functools.wraps(function)
            def inner(*args): return function(*args)
            return inner
        def helper(x): return 3
        class Task:
            @same
            @same
            def __call__(self, x): return helper(x)
        task = Task()
        """,
        "return 3",
        "return 4",
    ),
    "a decorator that hides what it wraps": (
        """
        def plus(n):
            def decorate(function):
                def inner(*args): return function(*args) + n
                return inner
            return decorate
        class Task:
            @plus(N)
            def __call__(self, x): return x
        task = Task()
        """,
        "plus(N)",
        "plus(4)",
    ),
    "a class inside a class": (
        """
        def helper(x): return 3
        class Task:
            class Inner:
                def go(self, x): return helper(x)
            def __call__(self, x): return self.Inner().go(x)
        task = Task()
        """,
        "return 3",
        "return 4",
    ),
    "functions in an attribute of a class": (
        """
        def helper(x): return 3
        class Task:
            checks = {"a": lambda x: helper(x)}
            def __call__(self, x): return self.checks["a"](x)
        task = Task()
        """,
        "return 3",
        "return 4",
    ),
    "an attribute that a class is given later": (
        """
        class Config:
            limit = 0
        Config.limit = 3
        def task(x): return Config.limit
        """,
        "limit = 3",
        "limit = 4",
    ),
    "an attribute of a function": (
        """
        def task(x): return task.limit
        task.limit = 3
        """,
        "limit = 3",
        "limit = 4",
    ),
    "a docstring that is read": (
        """
        def task(x):
            "3"
            return task.__doc__
        """,
        '"3"',
        '"4"',
    ),
    "the labels of a literal type": (
        """
        from typing import Literal, get_args
        Label = Literal["good", "bad"]
        def task(x): return x in get_args(Label)
        """,
        '"good"',
        '"fine"',
    ),
    "what a type is annotated with": (
        """
        from typing import Annotated
        from pydantic import Field, TypeAdapter
        Short = Annotated[str, Field(max_length=3)]
        def task(x): return TypeAdapter(Short).validate_python(x)
        """,
        "max_length=3",
        "max_length=4",
    ),
    "a class in a union": (
        """
        import typing
        class A: limit = 3
        class B: limit = 3
        Kind = typing.Optional[A]
        def task(x): return typing.get_args(Kind)[0].limit
        """,
        "Optional[A]",
        "Optional[B]",
    ),
    "an edit of a class in a union": (
        """
        import typing
        class A: limit = 3
        Kind = typing.List[typing.Union[A, None]]
        def task(x): return typing.get_args(typing.get_args(Kind)[0])[0].limit
        """,
        "limit = 3",
        "limit = 4",
    ),
    "a class that a type names in quotes": (
        """
        import typing
        Tree = typing.Dict[str, typing.Union["Leaf", "Tree"]]
        class Leaf: limit = 3
        def task(x): return Tree
        """,
        "limit = 3",
        "limit = 4",
    ),
    "what a new type is made of": (
        """
        import typing
        Kind = typing.NewType("Kind", int)
        def task(x): return Kind.__supertype__(x)
        """,
        "int)",
        "float)",
    ),
    "what a weak reference leads to": (
        """
        import weakref
        class Config: pass
        config = Config()
        config.limit = 3
        reference = weakref.ref(config)
        def task(x): return reference().limit
        """,
        "limit = 3",
        "limit = 4",
    ),
    "a decorator that is a class": (
        """
        import functools
        class shouting:
            def __init__(self, function):
                functools.update_wrapper(self, function)
                self.function = function
            def __call__(self, x): return self.function(x) + 3
        @shouting
        def task(x): return x
        """,
        "+ 3",
        "+ 4",
    ),
    "what a decorator that is a class was given": (
        """
        import functools
        class Plus:
            def __init__(self, function, n):
                functools.update_wrapper(self, function)
                self.n = n
            def __call__(self, x): return self.__wrapped__(x) + self.n
        def inner(x): return x
        plus = Plus(inner, N)
        def task(x): return plus(x)
        """,
        "inner, N",
        "inner, 4",
    ),
    "what such a decorator wraps": (
        """
        import functools
        class Same:
            def __init__(self, function): functools.update_wrapper(self, function)
            def __call__(self, x): return self.__wrapped__(x)
        @Same
        @Same
        def helper(x): return 3
        class Task:
            @Same
            def __call__(self, x): return helper(x)
        task = Task()
        """,
        "return 3",
        "return 4",
    ),
    "a descriptor that is told its name": (
        """
        class Limit:
            def __init__(self, n): self.n = n
            def __set_name__(self, owner, name): self.name = name
            def __get__(self, thing, kind): return self.n
        made = {"limit": Limit(N)}
        class Base: pass
        Base.limit = made["limit"]
        def task(x): return Base.limit
        """,
        "Limit(N)",
        "Limit(4)",
    ),
    "functions that are chosen by type": (
        """
        import functools
        @functools.singledispatch
        def judge(x): return 0
        @judge.register
        def _(x: str): return 3
        def task(x): return judge(x)
        """,
        "return 3",
        "return 4",
    ),
    "a decorator of a library": (
        """
        import contextlib
        def helper(): return 3
        @contextlib.contextmanager
        def opened(): yield helper()
        def task(x):
            with opened() as found: return found
        """,
        "return 3",
        "return 4",
    ),
    "a bound method that is built in": ('task = "Say {}".format', "Say", "Shout"),
    "a special method that is built in": ('task = {"hello"}.__contains__', "hello", "bye"),
    "the value of an enumeration": (
        """
        import enum
        class Limit(enum.Enum):
            SHORT = N
        SHORT = Limit.SHORT
        def task(x): return SHORT.value
        """,
        "SHORT = N",
        "SHORT = 4",
    ),
    "a named tuple": (
        """
        import collections
        Pair = collections.namedtuple("Pair", "a b", defaults=[3])
        def task(x): return Pair(x)
        """,
        "[3]",
        "[4]",
    ),
    "a plain dataclass": (
        """
        import dataclasses
        @dataclasses.dataclass
        class Answer:
            text: str
            score: int = N
        def task(x): return Answer(x)
        """,
        "int = N",
        "int = 4",
    ),
    "a function that is bound by hand": (
        """
        import types
        class Agent: pass
        def helper(self, x): return 3
        task = types.MethodType(helper, Agent())
        """,
        "return 3",
        "return 4",
    ),
}


@pytest.mark.parametrize(("source", "old", "new"), EDITS.values(), ids=EDITS.keys())
def test_an_edit_of_whatever_is_reached_is_noticed(project, source, old, new):
    if "task = " in source.strip().splitlines()[0]:
        source = source.strip()
    source = source.replace("\n        ", "\n")
    before, same, after = (
        task_identity(project.load(tasks=f"N = 3\n{text}").task)
        for text in (source, source, source.replace(old, new))
    )
    assert old in source
    assert isinstance(before, Identity), before
    assert same == before
    assert isinstance(after, Identity), after
    assert after.key != before.key, differences(before.parts, after.parts)


KNOWN = """
import abc, asyncio, collections, dataclasses, enum, functools, threading, typing
import msgspec, pydantic

class E(enum.Enum):
    A = enum.auto()

class F(enum.Flag):
    X = 1

class P(typing.Protocol):
    def f(self): ...

class Model(pydantic.BaseModel):
    a: int = 1
    @pydantic.field_validator("a")
    @classmethod
    def check(cls, a): return a

class Struct(msgspec.Struct):
    a: int = 1

class Pair(typing.NamedTuple):
    a: int = 1
    def swapped(self): return self

class Base(abc.ABC):
    @abc.abstractmethod
    def f(self): ...

class G(Base, typing.Generic[typing.TypeVar("T")]):
    def f(self): return super().f()
    @functools.cached_property
    def late(self): return 1
    @functools.singledispatchmethod
    def go(self, x): return 1
    @go.register
    def _(self, x: int): return 2

@functools.total_ordering
class Ordered:
    def __lt__(self, other): return True

@dataclasses.dataclass(frozen=True, slots=True, order=True)
class D:
    a: int = 1

Alias = dict[str, D]
Either = D | None
T = typing.TypeVar("T")
Some = typing.List[T]
Word = typing.Annotated[str, pydantic.Field(pattern="a"), pydantic.BeforeValidator(str)]
Call = typing.Callable[[typing.Any], typing.Literal["a"]]
Bare = typing.Union

def task(x):
    T, Some, Word, Call, Bare
    return E.A, F.X, P, Model, Struct, Pair, G, Ordered, D, Alias, Either, x in {1, "a"}, -0.0
"""


def test_classes_of_every_common_kind_are_known(project):
    one, two = (task_identity(project.load(tasks=KNOWN).task) for _ in range(2))
    assert isinstance(one, Identity), one
    assert one == two
    other = task_identity(project.load(tasks=KNOWN.replace("a: int = 1", "a: int = 2")).task)
    assert {*(f"helper tasks.{name} changed" for name in ("D", "Model", "Struct"))} <= {
        *differences(one.parts, other.parts)
    }


@pytest.mark.parametrize(
    "source",
    [
        "import threading\nthread = threading.Timer(3, print)\ndef task(x): return thread.interval\n",
        "import contextvars\nlimit = contextvars.ContextVar('limit', default=3)\ndef task(x): return limit.get()\n",
        "import threading\nready = threading.Event()\ndef task(x): return ready.is_set()\n",
        "import threading\nlock = threading.Lock()\ndef task(x):\n    with lock: return x\n",
        "import asyncio\ngate = asyncio.Semaphore(3)\nasync def task(x):\n    async with gate: return x\n",
        "import threading\nlocal = threading.local()\ndef task(x): return local.limit\n",
        "import weakref\nclass C: pass\nc = C()\nlast = weakref.finalize(c, print, 3)\ndef task(x): return last()\n",
        "import typing\nKind = typing.List['Unknown']\ndef task(x): return Kind\n",
    ],
    ids=["thread", "context variable", "event", "lock", "semaphore", "local", "finalizer", "type in quotes"],
)
def test_what_coordinates_or_annotates_and_does_not_tell_what_it_holds_has_no_identity(project, source):
    found = task_identity(project.load(tasks=source).task)
    assert isinstance(found, Unknown), found.parts


@pytest.mark.parametrize(
    "source",
    [
        "made = {}\nexec('def task(x): return 1', made)\ntask = made['task']\n",
        "made = {}\nexec('def f(x): return 1', made)\nf = made['f']\ndef task(x): return f(x)\n",
        "made = {}\nexec('class Task:\\n    def __call__(self, x): return 1', made)\ntask = made['Task']()\n",
        "def task(x): return 1\nclass Task:\n    pass\nTask.go = eval('lambda self, x: 1')\ntask = Task().go\n",
    ],
    ids=["function", "helper", "class", "method"],
)
def test_code_that_was_made_at_run_time_has_no_identity(project, source):
    found = task_identity(project.load(tasks=source).task)
    assert isinstance(found, Unknown), found.parts


def test_a_module_of_the_project_that_is_named_like_one_of_python_is_looked_into(project):
    task = "from this import helper\ndef task(x): return helper(x)\n"
    one, two = (
        task_identity(project.load(this=f"def helper(x): return {n}\n", tasks=task).task) for n in (3, 4)
    )
    assert isinstance(one, Identity)
    assert one.key != two.key


PARAMETERS = {
    "an argument that is kept under another name": (
        """
        @dataclass
        class E(Evaluator):
            limit: InitVar[int]
            def __post_init__(self, limit): self._limit = limit
            def evaluate(self, ctx): return self._limit
        """,
        "E(3)",
        "E(4)",
    ),
    "a constructor of its own": (
        """
        @dataclass
        class Base(Evaluator):
            a: int = 0
            def evaluate(self, ctx): return True
        class E(Base):
            def __init__(self, most):
                super().__init__()
                self.most = most
        """,
        "E(3)",
        "E(4)",
    ),
    "a field that is set later": (
        """
        @dataclass
        class E(Evaluator):
            limit: int = field(init=False, default=0)
            def evaluate(self, ctx): return self.limit
        def make(limit):
            made = E()
            made.limit = limit
            return made
        """,
        "make(3)",
        "make(4)",
    ),
    "a member of an enumeration": (
        """
        class Limit(enum.Enum):
            SHORT = N
        @dataclass
        class E(Evaluator):
            limit: Limit
            def evaluate(self, ctx): return self.limit.value
        """,
        "E(Limit(3))",
        "E(Limit(4))",
    ),
}


@pytest.mark.parametrize(("source", "old", "new"), PARAMETERS.values(), ids=PARAMETERS.keys())
def test_every_way_of_giving_an_evaluator_a_parameter_counts(project, source, old, new):
    head = "import enum\nfrom dataclasses import InitVar, dataclass, field\nfrom calipers import Evaluator\n"
    source = source.replace("\n        ", "\n")
    before, same, after = (
        evaluator_identity(
            project.load(judges=f"{head}N = {3 if made == old else 4}\n{source}\nmade = {made}\n").made
        )
        for made in (old, old, new)
    )
    assert isinstance(before, Identity), before
    assert same == before
    assert isinstance(after, Identity), after
    assert after.key != before.key
