"""Small programs with one edit each that changes what they do, to see whether reuse notices it.

A program is one text. A line `# file: NAME` begins a file; what stands before the first is `evals.py`. Files under
`site-packages` are a library's. `evals.py` has `task`, and may have `cases`, `evaluators`, `lifecycle` and `plugins`.
"""

from typing import NamedTuple


class Program(NamedTuple):
    """A program, and an edit that changes what it does."""

    source: str
    old: str
    new: str

    def edited(self) -> str:
        """The program after the edit."""
        assert self.old in self.source
        return self.source.replace(self.old, self.new)


SEEN: dict[str, list[Program]] = {
    "the source of the task": [
        Program("def task(x): return x + 1", "+ 1", "+ 2"),
        Program("task = lambda x: x + 1", "+ 1", "+ 2"),
        Program("async def task(x): return x + 1", "+ 1", "+ 2"),
        Program("class Agent:\n    def invoke(self, x): return x + 1\ntask = Agent()", "+ 1", "+ 2"),
        Program("def task(x):\n    def inner(y): return y + 1\n    return inner(x)", "+ 1", "+ 2"),
        Program("def task(x): return sum(y for y in range(x) if y % 2)", "% 2", "% 3"),
    ],
    "functions and classes that the code names, and what these name": [
        Program(
            "import one\ndef task(x): return getattr(one, 'first')(x)\n# file: one.py\ndef first(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
        Program("def helper(x): return x + 1\ndef task(x): return helper(x)", "+ 1", "+ 2"),
        Program(
            "from one import first\ndef task(x): return first(x)\n"
            "# file: one.py\nfrom two import second\ndef first(x): return second(x)\n"
            "# file: two.py\ndef second(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "import package\ndef task(x): return package.helper(x)\n"
            "# file: package/__init__.py\nfrom .inner import helper\n"
            "# file: package/inner.py\ndef helper(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "from star import *\ndef task(x): return helper(x)\n# file: star.py\ndef helper(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "import one.two.three as deep\ndef task(x): return deep.helper(x)\n"
            "# file: one/__init__.py\n# file: one/two/__init__.py\n"
            "# file: one/two/three.py\ndef helper(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
        Program("def helper(x): return x + 1\ntask = lambda x: [helper(y) for y in [x]]", "+ 1", "+ 2"),
    ],
    "modules imported inside a function, and what these import": [
        Program(
            "def task(x):\n    from one import first\n    return first(x)\n"
            "# file: one.py\nimport two\ndef first(x): return two.second(x)\n"
            "# file: two.py\ndef second(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "import importlib\ndef task(x): return importlib.import_module('one').first(x)\n"
            "# file: one.py\ndef first(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "def task(x): return __import__('one').first(x)\n# file: one.py\ndef first(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
    ],
    "global values": [
        Program(
            "import sys\nfrom pathlib import Path\nPROMPT = Path(sys.path[0], 'prompt.txt').read_text()\n"
            "def task(x): return PROMPT\n# file: prompt.txt\nBe brief.",
            "brief",
            "polite",
        ),
        Program("LIMIT = 3\ndef task(x): return x + LIMIT", "LIMIT = 3", "LIMIT = 4"),
        Program("LIMITS = {'a': [3]}\ndef task(x): return x + LIMITS['a'][0]", "[3]", "[4]"),
        Program("LIMITS = []\nLIMITS.append(3)\ndef task(x): return x + LIMITS[0]", "append(3)", "append(4)"),
        Program(
            "import config\ndef task(x): return x + config.LIMIT\n# file: config.py\nLIMIT = 3\n",
            "= 3",
            "= 4",
        ),
        Program(
            "import os\nos.environ['CALIPERS_TEST_MODEL'] = '3'\nMODEL = os.environ['CALIPERS_TEST_MODEL']\n"
            "def task(x): return MODEL",
            "= '3'",
            "= '4'",
        ),
    ],
    "which function, class or module a name stands for": [
        Program("NUMBER = int\ndef task(x): return str(NUMBER(x))", "= int", "= float"),
        Program("MAKE = list\ndef task(x): return str(MAKE([x]))", "= list", "= tuple"),
        Program(
            "from decimal import Decimal\nfrom fractions import Fraction\nNUMBER = Decimal\n"
            "def task(x): return repr(NUMBER(x))",
            "= Decimal",
            "= Fraction",
        ),
        Program(
            "from collections import OrderedDict as Made\ndef task(x): return Made([x] if x > 9 else {}).__class__.__name__",
            "OrderedDict as",
            "Counter as",
        ),
        Program("from statistics import mean as f\ndef task(x): return f([x, 1, 0])", "mean as", "median as"),
        Program("from operator import add as f\ndef task(x): return f(x, 2)", "add as", "mul as"),
        Program("import decimal as m\ndef task(x): return m.__name__", "decimal as", "fractions as"),
        Program(
            "from one import a as g\ndef task(x): return g(x)\n"
            "# file: one.py\ndef a(x): return x + 1\ndef b(x): return x + 2\n",
            "a as g",
            "b as g",
        ),
        Program(
            "def a(x): return x + 1\ndef b(x): return x * 2\nf, g = a, b\ndef task(x): return f(g(x))",
            "f, g = a, b",
            "g, f = a, b",
        ),
        Program(
            "def make(kind):\n    def task(x): return str(kind(x))\n    return task\ntask = make(int)",
            "make(int)",
            "make(float)",
        ),
        Program(
            "NUMBER = int\ndef task(x): return x\ndef judge(output): return str(NUMBER(output))\nevaluators = [judge]",
            "= int",
            "= float",
        ),
    ],
    "default arguments": [
        Program("def task(x, n=3): return x + n", "n=3", "n=4"),
        Program("N = 3\ndef task(x, *, n=N): return x + n", "N = 3", "N = 4"),
        Program("def task(x, found=[3]): return x + found[0]", "[3]", "[4]"),
    ],
    "closures": [
        Program(
            "def make(n):\n    def task(x): return x + n\n    return task\ntask = make(3)",
            "make(3)",
            "make(4)",
        ),
        Program(
            "def make(n):\n    def task(x): return x + n\n    task.version = '1'\n    return task\ntask = make(3)",
            "make(3)",
            "make(4)",
        ),
        Program(
            "def make(n):\n    def task(x, n=n): return x + n\n    task.version = '1'\n    return task\ntask = make(3)",
            "make(3)",
            "make(4)",
        ),
    ],
    "decorators, and what they were given": [
        Program(
            "from calipers.agents import tool\n@tool\ndef find(x: int) -> int: return x + 1\ndef task(x): return find(x)",
            "+ 1",
            "+ 2",
        ),
        Program(
            "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def call(x): return f(x) + 1\n    return call\n"
            "@twice\ndef task(x): return x",
            "+ 1",
            "+ 2",
        ),
        Program("import functools\n@functools.lru_cache\ndef task(x): return x + 1", "+ 1", "+ 2"),
        Program(
            "import functools\ndef add(x, n): return x + n\ntask = functools.partial(add, n=3)", "n=3", "n=4"
        ),
        Program(
            "class plus:\n    def __init__(self, n): self.n = n\n"
            "    def __call__(self, f): return lambda x: f(x) + self.n\n@plus(3)\ndef task(x): return x",
            "plus(3)",
            "plus(4)",
        ),
    ],
    "attributes of classes and of objects": [
        Program(
            "import sys\nfrom pathlib import Path\nclass Agent:\n"
            "    def __init__(self): self.prompt = Path(sys.path[0], 'prompt.txt').read_text()\n"
            "    def __call__(self, x): return self.prompt\ntask = Agent()\n# file: prompt.txt\nBe brief.",
            "brief",
            "polite",
        ),
        Program(
            "class Agent:\n    n = 3\n    def __call__(self, x): return x + self.n\ntask = Agent()",
            "= 3",
            "= 4",
        ),
        Program(
            "class Agent:\n    def __init__(self, n): self.n = n\n    def __call__(self, x): return x + self.n\n"
            "task = Agent(3)",
            "Agent(3)",
            "Agent(4)",
        ),
        Program(
            "class Agent:\n    n = 0\n    def __call__(self, x): return x + self.n\nAgent.n = 3\ntask = Agent()",
            "n = 3",
            "n = 4",
        ),
        Program(
            "@dataclass\nclass Config:\n    n: int = 3\ndef task(x): return x + Config().n",
            "int = 3",
            "int = 4",
        ),
        Program(
            "from dataclasses import field\n@dataclass\nclass Config:\n    n: list = field(default_factory=lambda: [3])\n"
            "def task(x): return x + Config().n[0]",
            "[3]",
            "[4]",
        ),
        Program(
            "import enum\nclass Size(enum.Enum):\n    SMALL = 3\ndef task(x): return x + Size.SMALL.value",
            "SMALL = 3",
            "SMALL = 4",
        ),
    ],
    "inherited methods, mixins and metaclasses": [
        Program(
            "class Base:\n    def go(self, x): return x + 1\nclass Agent(Base):\n"
            "    def __call__(self, x): return self.go(x)\ntask = Agent()",
            "+ 1",
            "+ 2",
        ),
        Program(
            "class Mixin:\n    def go(self, x): return x + 1\nclass Base: pass\nclass Agent(Mixin, Base):\n"
            "    def __call__(self, x): return self.go(x)\ntask = Agent()",
            "+ 1",
            "+ 2",
        ),
        Program(
            "class Meta(type):\n    def go(cls, x): return x + 1\nclass Agent(metaclass=Meta):\n"
            "    def __call__(self, x): return type(self).go(x)\ntask = Agent()",
            "+ 1",
            "+ 2",
        ),
        Program(
            "class Meta(type):\n    def go(cls, x): return x + 1\nclass Base(metaclass=Meta): pass\n"
            "class Agent(Base):\n    def __call__(self, x): return type(self).go(x)\ntask = Agent()",
            "+ 1",
            "+ 2",
        ),
        Program(
            "class Base:\n    def __init_subclass__(cls, n): cls.n = n\nclass Agent(Base, n=3):\n"
            "    def __call__(self, x): return x + self.n\ntask = Agent()",
            "n=3",
            "n=4",
        ),
        Program(
            "class Base:\n    def __init_subclass__(cls): cls.n = 3\nclass Agent(Base):\n"
            "    def __call__(self, x): return x + self.n\ntask = Agent()",
            "n = 3",
            "n = 4",
        ),
    ],
    "properties and descriptors": [
        Program(
            "class Agent:\n    @property\n    def n(self): return 3\n    def __call__(self, x): return x + self.n\n"
            "task = Agent()",
            "return 3",
            "return 4",
        ),
        Program(
            "class Field:\n    def __get__(self, owner, kind): return 3\nclass Agent:\n    n = Field()\n"
            "    def __call__(self, x): return x + self.n\ntask = Agent()",
            "return 3",
            "return 4",
        ),
        Program(
            "class Field:\n    def __init__(self, n): self.n = n\n    def __get__(self, owner, kind): return self.n\n"
            "class Agent:\n    n = Field(3)\n    def __call__(self, x): return x + self.n\ntask = Agent()",
            "Field(3)",
            "Field(4)",
        ),
        Program(
            "import functools\nclass Agent:\n    @functools.cached_property\n    def n(self): return 3\n"
            "    def __call__(self, x): return x + self.n\ntask = Agent()",
            "return 3",
            "return 4",
        ),
    ],
    "validators of models, and what types are made of": [
        Program(
            "import pydantic\nclass Model(pydantic.BaseModel):\n    n: int\n    @pydantic.field_validator('n')\n"
            "    @classmethod\n    def more(cls, n): return n + 1\ndef task(x): return Model(n=x).n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "from typing import Annotated\nimport pydantic\nN = Annotated[int, pydantic.Field(le=9)]\n"
            "class Model(pydantic.BaseModel):\n    n: N\n"
            "def task(x):\n    try:\n        return Model(n=x).n\n    except ValueError:\n        return 0",
            "le=9",
            "le=4",
        ),
        Program(
            "from typing import Literal, get_args\nKind = Literal['a', 'b']\ndef task(x): return get_args(Kind)[0]",
            "'a', 'b'",
            "'c', 'b'",
        ),
        Program(
            "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass Box(Generic[T]):\n    def get(self): return 3\n"
            "class Ints(Box[int]): pass\ndef task(x): return x + Ints().get()",
            "return 3",
            "return 4",
        ),
    ],
    "functions in values: lists of tools, registries": [
        Program(
            "def tool(x): return x + 1\nTOOLS = {'tool': tool}\ndef task(x): return TOOLS['tool'](x)",
            "+ 1",
            "+ 2",
        ),
        Program(
            "TOOLS = []\ndef tool(f):\n    TOOLS.append(f)\n    return f\n@tool\ndef add(x): return x + 1\n"
            "def task(x): return TOOLS[0](x)",
            "+ 1",
            "+ 2",
        ),
        Program(
            "def tool(x): return x + 1\nclass Agent:\n    def __init__(self, tools): self.tools = tools\n"
            "    def __call__(self, x): return self.tools[0](x)\ntask = Agent([tool])",
            "+ 1",
            "+ 2",
        ),
    ],
    "methods and attributes of the classes of what a case holds": [
        Program(
            "@dataclass\nclass Rubric:\n    most: int\n    def check(self, n): return n <= self.most\n"
            "cases = [Case(name='a', inputs=3, expected_output=Rubric(3))]\n"
            "def fits(output, expected_output): return expected_output.check(output)\nevaluators = [fits]\n"
            "def task(x): return x",
            "n <= self.most",
            "n < self.most",
        ),
        Program(
            "class Request:\n    suffix = '!'\n    def __init__(self, text): self.text = text\n"
            "    def prompt(self): return self.text + self.suffix\n"
            "cases = [Case(name='a', inputs=Request('hi'))]\ndef task(x): return x.prompt()",
            "'!'",
            "'?'",
        ),
        Program(
            "import pydantic\nclass Request(pydantic.BaseModel):\n    text: str\n    def prompt(self): return self.text + '!'\n"
            "cases = [Case(name='a', inputs=[{'deep': Request(text='hi')}])]\n"
            "def task(x): return x[0]['deep'].prompt()",
            "'!'",
            "'?'",
        ),
        Program(
            "import enum\nclass Size(enum.Enum):\n    SMALL = 1\n    def words(self): return 3\n"
            "cases = [Case(name='a', inputs='x', metadata={'size': Size.SMALL})]\n"
            "def short(output, metadata): return metadata['size'].words() < 4\nevaluators = [short]\n"
            "def task(x): return x",
            "return 3",
            "return 4",
        ),
        Program(
            "from models import Request\ncases = [Case(name='a', inputs=Request('hi'))]\ndef task(x): return x.prompt()\n"
            "# file: models.py\nfrom words import end\nclass Base:\n    def prompt(self): return self.text + end()\n"
            "class Request(Base):\n    def __init__(self, text): self.text = text\n"
            "# file: words.py\ndef end(): return '!'\n",
            "'!'",
            "'?'",
        ),
        Program(
            "class Words(list):\n    def first(self): return self[0]\n"
            "cases = [Case(name='a', inputs=Words([1, 2]))]\ndef task(x): return x.first()",
            "self[0]",
            "self[1]",
        ),
        Program(
            "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int\n"
            "    def total(self): return self.a + self.b\n"
            "cases = [Case(name='a', inputs=Pair(1, 2))]\ndef task(x): return x.total()",
            "self.a + self.b",
            "self.a - self.b",
        ),
        Program(
            "class Shout(str):\n    def __str__(self): return self.upper() + '!'\n"
            "cases = [Case(name='a', inputs=Shout('hi'))]\ndef task(x): return str(x)",
            "'!'",
            "'?'",
        ),
        Program(
            "def tool(x): return x + 1\ncases = [Case(name='a', inputs=(3, tool))]\ndef task(x): return x[1](x[0])",
            "+ 1",
            "+ 2",
        ),
        Program(
            "class Tool:\n    n = 1\ncases = [Case(name='a', inputs=Tool)]\ndef task(x): return x.n",
            "n = 1",
            "n = 2",
        ),
    ],
    "methods and attributes of the classes of outputs": [
        Program(
            "class Answer:\n    def __init__(self, n): self.n = n\n    def good(self): return self.n > 2\n"
            "    def __repr__(self): return 'answer'\n"
            "def task(x): return Answer(x)\ntask.version = '1'\ndef good(output): return output.good()\nevaluators = [good]",
            "> 2",
            "> 4",
        ),
        Program(
            "@dataclass\nclass Answer:\n    n: int\n    def good(self): return self.n > 2\n"
            "def task(x) -> Answer: return Answer(x)\ntask.version = '1'\n"
            "def good(output): return output.good()\nevaluators = [good]",
            "> 2",
            "> 4",
        ),
    ],
    "hooks of a lifecycle": [
        Program(
            "from functools import cache\n@cache\ndef state(): return {'n': 0}\n"
            "class Hooks(CaseLifecycle):\n    def setup(self): state()['n'] = 3\nlifecycle = Hooks\ndef task(x): return x + state()['n']",
            "= 3",
            "= 4",
        ),
        Program(
            "class Hooks(CaseLifecycle):\n    def prepare_context(self, ctx):\n        ctx.attributes['n'] = 3\n"
            "        return ctx\nlifecycle = Hooks\ndef few(attributes): return attributes['n'] < 4\nevaluators = [few]\n"
            "def task(x): return x",
            "= 3",
            "= 4",
        ),
        Program(
            "from functools import cache\n@cache\ndef state(): return {'n': 0}\nclass Hooks(CaseLifecycle):\n"
            "    def setup(self): state()['n'] = 3\n\ndef task(x): return x + state()['n']",
            "\n\n",
            "\nlifecycle = Hooks\n",
        ),
        Program(
            "from functools import cache\n@cache\ndef state(): return {'n': 0}\nclass Hooks(CaseLifecycle):\n"
            "    def __init__(self, case, n):\n        super().__init__(case)\n        self.n = n\n"
            "    def setup(self): state()['n'] = self.n\n"
            "def make(n): return lambda case: Hooks(case, n)\nlifecycle = make(3)\ndef task(x): return x + state()['n']",
            "make(3)",
            "make(4)",
        ),
    ],
    "hooks of a plugin": [
        Program(
            "from calipers.plugins import PluginBase, PluginManager\nfrom functools import cache\n"
            "@cache\ndef state(): return {'n': 0}\n"
            "class Ready(PluginBase):\n    name = 'ready'\n    version = '1'\n"
            "    def on_test_start(self, case): state()['n'] = 3\n"
            "plugins = PluginManager()\nplugins.load_plugins(classes=[Ready], entry_points=False, strict=True)\n"
            "def task(x): return x + state()['n']",
            "= 3",
            "= 4",
        ),
    ],
    "docstrings of functions and classes that are handed on": [
        Program(
            "import lib\ndef search(q):\n    'Find.'\n    return q\ndef task(x): return lib.ask(x, [search])\n"
            "# file: site-packages/lib.py\ndef ask(x, tools): return [tool.__doc__ for tool in tools]\n",
            "Find.",
            "Look.",
        ),
        Program(
            "import lib\ndef search(q):\n    'Find.'\n    return q\nAGENT = lib.Agent(tools=[search])\n"
            "def task(x): return AGENT.run(x)\n"
            "# file: site-packages/lib.py\nclass Agent:\n    def __init__(self, tools): self.tools = tools\n"
            "    def run(self, x): return self.tools[0].__doc__\n",
            "Find.",
            "Look.",
        ),
        Program(
            "import lib\nclass Tools:\n    def search(self, q):\n        'Find.'\n        return q\n"
            "def task(x): return lib.ask(x, Tools())\n"
            "# file: site-packages/lib.py\ndef ask(x, tools): return tools.search.__doc__\n",
            "Find.",
            "Look.",
        ),
        Program(
            "import lib\nclass Agent:\n    def search(self, q):\n        'Find.'\n        return q\n"
            "    def __call__(self, x): return lib.ask(x, [self.search])\ntask = Agent()\n"
            "# file: site-packages/lib.py\ndef ask(x, tools): return tools[0].__doc__\n",
            "Find.",
            "Look.",
        ),
        Program(
            "import lib\nclass Agent:\n    def search(self, q):\n        'Find.'\n        return q\n"
            "    def __call__(self, x): return lib.ask(x, self)\ntask = Agent()\n"
            "# file: site-packages/lib.py\ndef ask(x, tools): return tools.search.__doc__\n",
            "Find.",
            "Look.",
        ),
        Program(
            "import lib\ndef task(x):\n    def search(q):\n        'Find.'\n        return q\n"
            "    return lib.ask(x, [search])\n"
            "# file: site-packages/lib.py\ndef ask(x, tools): return tools[0].__doc__\n",
            "Find.",
            "Look.",
        ),
        Program(
            "import lib\n@dataclass\nclass Answer:\n    'Find.'\n    n: int\ndef task(x): return lib.ask(x, Answer)\n"
            "# file: site-packages/lib.py\ndef ask(x, kind): return kind.__doc__\n",
            "Find.",
            "Look.",
        ),
        Program(
            "import lib\n@lib.tool\ndef search(q):\n    'Find.'\n    return q\ndef task(x): return search(x)\n"
            "# file: site-packages/lib.py\ndef tool(f): return lambda x: f.__doc__\n",
            "Find.",
            "Look.",
        ),
    ],
    "the version of a library, and its settings": [
        Program(
            "import lib\ndef task(x): return lib.ask(x)\n"
            "# file: site-packages/lib.py\n__version__ = '1'\ndef ask(x): return __version__\n",
            "'1'",
            "'2'",
        ),
        Program(
            "import lib\nlib.MODEL = 'a'\ndef task(x): return lib.ask(x)\n"
            "# file: site-packages/lib.py\nMODEL = 'none'\ndef ask(x): return MODEL\n",
            "= 'a'",
            "= 'b'",
        ),
        Program(
            "import lib\nlib.configure(model='a')\ndef task(x): return lib.ask(x)\n"
            "# file: site-packages/lib.py\n_model = None\ndef configure(model):\n    global _model\n    _model = model\n"
            "def ask(x): return _model\n",
            "model='a'",
            "model='b'",
        ),
        Program(
            "import lib\nlib.speed_up()\ndef task(x): return lib.ask(x)\n"
            "# file: site-packages/lib.py\n_mode = 'usual'\ndef speed_up():\n    global _mode\n    _mode = 'fast'\n"
            "def slow_down():\n    global _mode\n    _mode = 'slow'\ndef ask(x): return _mode\n",
            "lib.speed_up()",
            "lib.slow_down()",
        ),
        Program(
            "from lib import ask, configure\nconfigure(model='a')\ndef task(x): return ask(x)\n"
            "# file: site-packages/lib/__init__.py\nfrom .client import ask\nfrom .settings import configure\n"
            "# file: site-packages/lib/settings.py\nclass Settings:\n    def __init__(self): self.model = None\n"
            "settings = Settings()\ndef configure(model): settings.model = model\n"
            "# file: site-packages/lib/client.py\nfrom .settings import settings\ndef ask(x): return settings.model\n",
            "configure(model='a')",
            "configure(model='b')",
        ),
        Program(
            "import lib\nlib.settings['model'] = 'a'\ndef task(x): return lib.ask(x)\n"
            "# file: site-packages/lib.py\nsettings = {}\ndef ask(x): return settings['model']\n",
            "= 'a'",
            "= 'b'",
        ),
        Program(
            "import lib\nlib.Settings.model = 'a'\ndef task(x): return lib.ask(x)\n"
            "# file: site-packages/lib.py\nclass Settings:\n    model = None\ndef ask(x): return Settings.model\n",
            "= 'a'",
            "= 'b'",
        ),
        Program(
            "import lib\nclient = lib.Client(model='a')\ndef task(x): return client.ask(x)\n"
            "# file: site-packages/lib.py\nimport ssl\nclass Client:\n    def __init__(self, model):\n"
            "        self.model = model\n        self.pool = ssl.create_default_context()\n"
            "    def ask(self, x): return self.model\n",
            "model='a'",
            "model='b'",
        ),
        Program(
            "import lib\nclass Agent:\n    def __init__(self, model): self.client = lib.Client(model)\n"
            "    def __call__(self, x): return self.client.ask(x)\ntask = Agent('a')\n"
            "# file: site-packages/lib.py\nimport threading\nclass Client:\n    def __init__(self, model):\n"
            "        self.options = Options(model)\n        self.lock = threading.Lock()\n        self.again = self.ask\n"
            "    def ask(self, x): return self.options.model\n"
            "class Options:\n    def __init__(self, model): self.model = model\n",
            "Agent('a')",
            "Agent('b')",
        ),
    ],
    "functions and methods of a library that were replaced": [
        Program(
            "import lib\ndef fake(x): return x + 1\nlib.ask = fake\ndef task(x): return lib.ask(x)\n"
            "# file: site-packages/lib.py\ndef ask(x): return x\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "import lib\ndef fake(x): return x + 1\nlib._send = fake\ndef task(x): return lib.ask(x)\n"
            "# file: site-packages/lib.py\ndef _send(x): return x\ndef ask(x): return _send(x)\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "import lib\ndef fake(self, x): return x + 1\nlib.Client.send = fake\ndef task(x): return lib.Client().ask(x)\n"
            "# file: site-packages/lib.py\nclass Client:\n    def send(self, x): return x\n"
            "    def ask(self, x): return self.send(x)\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "import lib\n@lib.register\ndef tool(x): return x + 1\ndef task(x): return lib.ask(x)\n"
            "# file: site-packages/lib.py\nTOOLS = {}\ndef register(f):\n    TOOLS[f.__name__] = f\n    return f\n"
            "def ask(x): return TOOLS['tool'](x)\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "import json\ndef fake(x): return 'a'\njson.dumps = fake\ndef task(x): return json.dumps(x)\n",
            "'a'",
            "'b'",
        ),
        Program(
            "import builtins\nbuiltins.ask = lambda x: 'a'\ndef task(x): return ask(x)\n",
            "'a'",
            "'b'",
        ),
        Program(
            "import builtins\nbuiltins.MODEL = True\ndef task(x): return MODEL\n",
            "= True",
            "= False",
        ),
        Program(
            "import builtins\ndef fake(x): return 'a'\nbuiltins.bin = fake\ndef task(x): return bin(x)\n",
            "'a'",
            "'b'",
        ),
        Program(
            "import builtins\nbuiltins.hex = oct\ndef task(x): return hex(x)\n",
            "= oct",
            "= bin",
        ),
    ],
    "environment variables that are read by their names": [
        Program(
            "import os\nos.environ['CALIPERS_TEST_MODEL'] = 'a'\ndef task(x):\n    from helper import model\n    return model()\n"
            "# file: helper.py\nfrom os import getenv\ndef model(): return getenv('CALIPERS_TEST_MODEL')\n",
            "= 'a'",
            "= 'b'",
        ),
        Program(
            "import os\nos.environ['CALIPERS_TEST_MODEL'] = 'a'\ndef task(x):\n    from os import environ as e\n"
            "    return e['CALIPERS_TEST_MODEL']",
            "= 'a'",
            "= 'b'",
        ),
        Program(
            "import os\nos.environ['HOME'] = '/a'\ndef task(x): return os.path.expanduser('~/x')",
            "= '/a'",
            "= '/b'",
        ),
        Program(
            "import os\nfrom pathlib import Path\nos.environ['HOME'] = '/a'\ndef task(x): return str(Path.home())",
            "= '/a'",
            "= '/b'",
        ),
        Program(
            "import os\nos.environ['CALIPERS_TEST_MODEL'] = 'a'\ndef task(x): return os.environ['CALIPERS_TEST_MODEL']",
            "= 'a'",
            "= 'b'",
        ),
        Program(
            "import os\nos.environ['CALIPERS_TEST_MODEL'] = 'a'\ndef task(x): return os.getenv('CALIPERS_TEST_MODEL')",
            "= 'a'",
            "= 'b'",
        ),
        Program(
            "from os import environ\nenviron['CALIPERS_TEST_MODEL'] = 'a'\nNAME = 'CALIPERS_TEST_MODEL'\n"
            "def task(x): return environ.get(NAME, '')",
            "= 'a'",
            "= 'b'",
        ),
    ],
    "the source of an evaluator, and what it names": [
        Program(
            "def limit(): return 4\ndef short(output): return output < limit()\nevaluators = [short]\ndef task(x): return x",
            "return 4",
            "return 3",
        ),
        Program(
            "@dataclass\nclass Short(Evaluator):\n    most: int = 4\n    def evaluate(self, ctx): return ctx.output < self.most\n"
            "evaluators = [Short()]\ndef task(x): return x",
            "int = 4",
            "int = 3",
        ),
        Program(
            "class Short:\n    def evaluate(self, expected, actual): return actual < 4\n"
            "evaluators = [Short()]\ncases = [Case(name='a', inputs=3, expected_output=3)]\ndef task(x): return x",
            "< 4",
            "< 3",
        ),
    ],
    "parameters of an evaluator": [
        Program(
            "@dataclass\nclass Short(Evaluator):\n    most: int\n    def evaluate(self, ctx): return ctx.output < self.most\n"
            "evaluators = [Short(4)]\ndef task(x): return x",
            "Short(4)",
            "Short(3)",
        ),
        Program(
            "from calipers.evaluators import Contains\nevaluators = [Contains('a')]\n"
            "cases = [Case(name='a', inputs='abc')]\ndef task(x): return x",
            "Contains('a')",
            "Contains('z')",
        ),
        Program(
            "def short(output): return output < 4\ncases = [Case(name='a', inputs=3, evaluators=[short])]\ndef task(x): return x",
            "< 4",
            "< 3",
        ),
    ],
    "the order of evaluators that look at one another's results": [
        Program(
            "def first(output): return True\ndef second(ctx): return len(ctx.results)\nevaluators = [first, second]\n"
            "def task(x): return x",
            "[first, second]",
            "[second, first]",
        ),
        Program(
            "def first(output): return True\ndef second(ctx): return ctx.results['first'].value\nevaluators = [first, second]\n"
            "def task(x): return x",
            "return True",
            "return False",
        ),
    ],
}
"""What reuse notices, by the line that the documentation has of it."""


_WORDS = ("brief", "polite")
_NAMES = ("file: prompts/a", "file: prompts/b")

UNKNOWN: dict[str, list[Program]] = {
    "code without source: typed into a shell, or made by `exec` or `eval`": [
        Program("task = eval('lambda x: x + 1')", "+ 1", "+ 2"),
        Program(
            "made = {}\nexec('def f(x): return x + 1', made)\nf = made['f']\ndef task(x): return f(x)",
            "+ 1",
            "+ 2",
        ),
        Program(
            "made = {'__name__': 'evals'}\nexec('class Words(list):\\n    def first(self): return self[0]', made)\n"
            "cases = [Case(name='a', inputs=made['Words']([1, 2]))]\ndef task(x): return x.first()",
            "self[0]",
            "self[1]",
        ),
    ],
    "modules and environment variables whose names are computed": [
        Program(
            "import importlib\ndef task(x): return importlib.import_module('o' + 'ne').first(x)\n"
            "# file: one.py\ndef first(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "import os\nos.environ['CALIPERS_TEST_MODEL'] = 'a'\ndef task(x): return os.environ['CALIPERS_TEST_' + 'MODEL']",
            "= 'a'",
            "= 'b'",
        ),
        *(
            Program(f"import os\nos.environ['CALIPERS_TEST_MODEL'] = 'a'\n{source}", "= 'a'", "= 'b'")
            for source in (
                "E = os.environ\ndef task(x): return E['CALIPERS_TEST_MODEL']",
                "from os import environ as e\ndef task(x): return e.get('CALIPERS_TEST_MODEL')",
                "from os import getenv as read\ndef task(x): return read('CALIPERS_TEST_MODEL')",
                "import one\ndef task(x): return one.environ['CALIPERS_TEST_MODEL']\n# file: one.py\nfrom os import environ\n",
                "def make(environ): return lambda x: environ['CALIPERS_TEST_MODEL']\ntask = make(os.environ)",
                "def task(x): return os.path.expandvars('$CALIPERS_TEST_MODEL')",
                "def task(x): return os.environb[b'CALIPERS_TEST_MODEL'].decode()",
            )
        ),
    ],
    "files that the code reads": [
        *(
            Program(
                f"import sys, {head}\nfrom pathlib import Path\ndef task(x):\n    here = sys.path[0]\n    {body}\n"
                "# file: prompts/a.txt\nBe brief.",
                *edit,
            )
            for head, body, edit in (
                ("io", "with io.open(here + '/prompts/a.txt') as f: return f.read()", _WORDS),
                (
                    "codecs",
                    "with codecs.open(here + '/prompts/a.txt', 'r', 'utf-8') as f: return f.read()",
                    _WORDS,
                ),
                ("os", "return os.read(os.open(here + '/prompts/a.txt', os.O_RDONLY), 99).decode()", _WORDS),
                ("linecache", "return linecache.getline(here + '/prompts/a.txt', 1)", _WORDS),
                (
                    "fileinput",
                    "with fileinput.FileInput(here + '/prompts/a.txt') as f: return list(f)",
                    _WORDS,
                ),
                ("os", "return os.listdir(here + '/prompts')", _NAMES),
                ("glob", "return glob.glob('*', root_dir=here + '/prompts')", _NAMES),
                ("os", "return [p.name for p in Path(here, 'prompts').iterdir()]", _NAMES),
                ("os", "return [p.name for p in Path(here).rglob('*.txt')]", _NAMES),
                ("os", "return Path(here, 'prompts/a.txt').exists()", _NAMES),
                ("os", "return os.path.getsize(here + '/prompts/a.txt')", _WORDS),
                ("io", "with io.FileIO(here + '/prompts/a.txt') as f: return f.read().decode()", _WORDS),
                (
                    "urllib.request as r",
                    "with r.urlopen('file://' + here + '/prompts/a.txt') as f: return f.read().decode()",
                    _WORDS,
                ),
                (
                    "urllib.request as r",
                    "with r.urlopen(f'file://{here}/prompts/a.txt') as f: return f.read().decode()",
                    _WORDS,
                ),
                ("numpy as np", "return np.loadtxt(here + '/prompts/a.txt', dtype=str).tolist()", _WORDS),
            )
        ),
        Program(
            "import sys\nfrom pathlib import Path\ndef task(x): return Path(sys.path[0], 'prompt.txt').read_text()\n"
            "# file: prompt.txt\nBe brief.",
            "brief",
            "polite",
        ),
        Program(
            "import sys\ndef task(x):\n    with open(sys.path[0] + '/prompt.txt', encoding='utf-8') as file:\n"
            "        return file.read()\n# file: prompt.txt\nBe brief.",
            "brief",
            "polite",
        ),
        Program(
            "import gzip as g, sys\nfrom pathlib import Path\nFILE = sys.path[0] + '/a.gz'\n"
            "with g.open(FILE, 'wt') as file: file.write('Be brief.')\n"
            "def task(x):\n    with g.open(FILE) as file: return file.read().decode()",
            "brief",
            "polite",
        ),
        Program(
            "import inspect, one\ndef task(x): return inspect.getsource(one)\n# file: one.py\ndef first(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
        Program(
            "import importlib.resources\ndef task(x): return (importlib.resources.files('package') / 'prompt.txt').read_text()\n"
            "# file: package/__init__.py\n# file: package/prompt.txt\nBe brief.",
            "brief",
            "polite",
        ),
        Program(
            "import sys\ndef task(x):\n    from helper import PROMPT\n    return PROMPT\n# file: helper.py\nimport sys\n"
            "from pathlib import Path\nPROMPT = Path(sys.path[0], 'prompt.txt').read_text()\n# file: prompt.txt\nBe brief.",
            "brief",
            "polite",
        ),
        *(
            Program(
                f"import sys\nfrom configparser import ConfigParser\n{source}\n# file: a.ini\n[a]\nb = 3\n",
                "b = 3",
                "b = 4",
            )
            for source in (
                "def task(x):\n    found = ConfigParser()\n    found.read(sys.path[0] + '/a.ini')\n    return found['a']['b']",
                "FOUND = ConfigParser()\ndef task(x):\n    FOUND.read(sys.path[0] + '/a.ini')\n    return FOUND['a']['b']",
                (
                    "def fill(config): config.read(sys.path[0] + '/a.ini')\n"
                    "def task(x):\n    found = ConfigParser()\n    fill(found)\n    return found['a']['b']"
                ),
                (
                    "def fill(some): some.read(sys.path[0] + '/a.ini')\n"
                    "def task(x):\n    found = ConfigParser()\n    fill(found)\n    return found['a']['b']"
                ),
                (
                    "from configparser import RawConfigParser as P\n"
                    "def task(x):\n    found = P()\n    found.read(sys.path[0] + '/a.ini')\n    return found['a']['b']"
                ),
                (
                    "class P(ConfigParser): pass\n"
                    "def task(x):\n    found = P()\n    found.read(sys.path[0] + '/a.ini')\n    return found['a']['b']"
                ),
                (
                    "def task(x):\n    from configparser import ConfigParser as P\n    found = P()\n"
                    "    found.read(sys.path[0] + '/a.ini')\n    return found['a']['b']"
                ),
                (
                    "SOME = {'a': ConfigParser()}\n"
                    "def task(x):\n    SOME['a'].read(sys.path[0] + '/a.ini')\n    return SOME['a']['a']['b']"
                ),
            )
        ),
    ],
    "readers of files and runners of programs that are handed on": [
        Program(
            f"import os, sys\nfrom pathlib import Path\nHERE = sys.path[0] + '/prompt.txt'\n{source}\n# file: prompt.txt\nBe brief.",
            "brief",
            "polite",
        )
        for source in (
            "import asyncio\nasync def task(x): return await asyncio.to_thread(Path(HERE).read_text)",
            (
                "from concurrent.futures import ThreadPoolExecutor\ndef task(x):\n"
                "    with ThreadPoolExecutor() as pool: return pool.submit(Path(HERE).read_text).result()"
            ),
            "def shown(file):\n    with file: return file.read()\ndef task(x): return list(map(shown, map(open, [HERE])))",
            "def shown(file):\n    with file: return file.read()\ndef task(x): return list(map(shown, map(Path.open, [Path(HERE)])))",
            "from functools import partial\nread = partial(open, HERE)\ndef task(x):\n    with read() as file: return file.read()",
            "def task(x, read=open):\n    with read(HERE) as file: return file.read()",
            "class Files:\n    read = staticmethod(open)\ndef task(x):\n    with Files.read(HERE) as file: return file.read()",
            "class Files:\n    open = staticmethod(open)\ndef task(x):\n    with Files.open(HERE) as file: return file.read()",
            "read = Path(HERE).read_text\ndef task(x): return read()",
            "size = Path(HERE).stat\ndef task(x): return size().st_size",
            "RUN = {'a': os.popen}\ndef task(x):\n    with RUN['a'](f'cat {HERE}') as file: return file.read()",
            (
                "import subprocess\nclass Agent:\n    def __init__(self): self.ask = subprocess.check_output\n"
                "    def __call__(self, x): return self.ask(['cat', HERE], text=True)\ntask = Agent()"
            ),
        )
    ],
    "programs that the code runs": [
        Program(f"{source}\n# file: prompt.txt\nBe brief.", "brief", "polite")
        for source in (
            (
                "import subprocess, sys\n"
                "def task(x): return subprocess.check_output(['cat', sys.path[0] + '/prompt.txt'], text=True)"
            ),
            (
                "import sys\nfrom subprocess import run as go\n"
                "def task(x): return go(['cat', sys.path[0] + '/prompt.txt'], text=True, capture_output=True).stdout"
            ),
            (
                "import sys\ndef task(x):\n    import subprocess as programs\n"
                "    return programs.getoutput(f'cat {sys.path[0]}/prompt.txt')"
            ),
            "import os, sys\ndef task(x): return os.system(f'grep -q Be.b {sys.path[0]}/prompt.txt')",
            (
                "import sys\ndef task(x):\n    from helper import show\n    return show(sys.path[0] + '/prompt.txt')\n"
                "# file: helper.py\nimport os\ndef show(path):\n    with os.popen(f'cat {path}') as shown: return shown.read()"
            ),
            (
                "import asyncio, sys\nasync def task(x):\n    made = await asyncio.create_subprocess_exec(\n"
                "        'cat', sys.path[0] + '/prompt.txt', stdout=asyncio.subprocess.PIPE)\n"
                "    return (await made.communicate())[0].decode()"
            ),
        )
    ],
    "what is fetched by a name in a text, out of a module": [
        Program(
            f"import one, operator, sys\ndef helper(x): return x + 1\n{source}\n# file: one.py\ndef first(x): return x + 1\n",
            old,
            new,
        )
        for old, new, source in (
            *(
                ("helper(x): return x + 1", "helper(x): return x + 2", f"def task(x): return {text}")
                for text in (
                    "globals()['helper'](x)",
                    "globals()['hel' + 'per'](x)",
                    "eval('helper(x)')",
                    "task.__globals__['helper'](x)",
                    "sys._getframe().f_globals['helper'](x)",
                )
            ),
            *(
                ("first(x): return x + 1", "first(x): return x + 2", f"def task(x): return {text}")
                for text in (
                    "vars(one)['first'](x)",
                    "one.__dict__['first'](x)",
                    "sys.modules['one'].first(x)",
                    "getattr(one, 'fir' + 'st')(x)",
                )
            ),
        )
    ],
    "classes that are found by `__subclasses__()`": [
        Program(
            "class Base: pass\nclass Part(Base):\n    def says(self): return 3\n"
            "def task(x): return [kind().says() for kind in Base.__subclasses__()]",
            "return 3",
            "return 4",
        ),
    ],
    "arguments of the command line, and standard input": [
        Program("import sys\nsys.argv[1:] = ['a']\ndef task(x): return sys.argv[1]", "['a']", "['b']"),
    ],
    "open files and connections, locks, context variables, events, what a thread keeps to itself": [
        Program("import io\nfile = io.StringIO('3')\ndef task(x): return file.getvalue()", "'3'", "'4'"),
        Program(
            "import contextvars\nlimit = contextvars.ContextVar('limit', default=3)\ndef task(x): return limit.get()",
            "default=3",
            "default=4",
        ),
        Program(
            "import threading\nlock = threading.Lock()\nlock.acquire()\ndef task(x): return lock.locked()",
            "acquire()",
            "locked()",
        ),
        Program(
            "import threading\nready = threading.Event()\nready.set()\ndef task(x): return ready.is_set()",
            "ready.set()",
            "ready.clear()",
        ),
    ],
    "objects of a library that keep their data in compiled code": [
        Program(
            "import numpy as np\nrandom = np.random.RandomState(3)\ndef task(x): return random.get_state()[1][0].item()",
            "RandomState(3)",
            "RandomState(4)",
        ),
    ],
}
"""What cannot be known, so that it is computed again and a note says why, by the line that the documentation has of it."""

NOT_SEEN: dict[str, list[Program]] = {
    "files that a library reads, or that are read when an object is made inside the task": [
        Program(
            "import sys\nfrom pathlib import Path\nclass Agent:\n"
            "    def __init__(self): self.prompt = Path(sys.path[0], 'prompt.txt').read_text()\n"
            "def task(x): return Agent().prompt\n# file: prompt.txt\nBe brief.",
            "brief",
            "polite",
        ),
        Program(
            "import sys, lib\ndef task(x): return lib.load(sys.path[0] + '/prompt.txt')\n# file: prompt.txt\nBe brief.\n"
            "# file: site-packages/lib.py\ndef load(path):\n    with open(path) as file: return file.read()\n",
            "brief",
            "polite",
        ),
    ],
    "programs that a library runs": [
        Program(
            "import sys, lib\ndef task(x): return lib.show(sys.path[0] + '/prompt.txt')\n# file: prompt.txt\nBe brief.\n"
            "# file: site-packages/lib.py\nimport subprocess\n"
            "def show(path): return subprocess.check_output(['cat', path], text=True)\n",
            "brief",
            "polite",
        ),
    ],
    "functions that are fetched by a computed name out of a module that was handed on": [
        Program(
            "import one\ndef pick(module, name): return getattr(module, name)\ndef task(x): return pick(one, 'fir' + 'st')(x)\n"
            "# file: one.py\ndef first(x): return x + 1\n",
            "+ 1",
            "+ 2",
        ),
    ],
    "fields of a dataclass with `compare=False`": [
        Program(
            "from dataclasses import field\n@dataclass\nclass Agent:\n    n: int = field(compare=False)\n"
            "    def __call__(self, x): return x + self.n\ntask = Agent(3)",
            "Agent(3)",
            "Agent(4)",
        ),
    ],
    "what a library keeps in closures, in compiled code, or under a name with `cache` in it": [
        Program(
            "import lib\nlib.configure('a')\ndef task(x): return lib.ask(x)\n# file: site-packages/lib.py\n"
            "def _make():\n    held = []\n    return held.append, lambda x: held[-1]\nconfigure, ask = _make()\n",
            "configure('a')",
            "configure('b')",
        ),
    ],
    "what a library computes for itself, such as a global variable that its `reload()` reads anew": [
        Program(
            "import os, lib\nos.environ['LIB_MODEL'] = 'a'\nlib.reload()\ndef task(x): return lib.ask(x)\n"
            "# file: site-packages/lib.py\nimport os\n_model = None\ndef reload():\n    global _model\n"
            "    _model = os.environ['LIB_MODEL']\ndef ask(x): return _model\n",
            "= 'a'",
            "= 'b'",
        ),
    ],
    "the source of a task that declares a version": [
        Program("def task(x): return x + 1\ntask.version = '1'", "+ 1", "+ 2"),
    ],
}
"""What reuse does not see, by the line that the documentation has of it."""


WITHOUT_EFFECT: list[Program] = [
    Program(
        "def first(output):\n    output.append(3)\n    return True\ndef second(output): return len(output)\n"
        "evaluators = [first, second]\ncases = [Case(name='a', inputs=1)]\ndef task(x): return [x]",
        "append(3)",
        "clear()",
    ),
    Program(
        "def first(ctx):\n    ctx.metadata['n'] = 3\n    return True\ndef second(metadata): return metadata['n']\n"
        "evaluators = [first, second]\ncases = [Case(name='a', inputs=1, metadata={'n': 1})]\ndef task(x): return x",
        "= 3",
        "= 4",
    ),
    Program(
        "def first(ctx):\n    ctx.attributes['n'] = 3\n    return True\n"
        "def second(attributes): return attributes.get('n', 0)\n"
        "evaluators = [first, second]\ncases = [Case(name='a', inputs=1)]\ndef task(x): return x",
        "= 3",
        "= 4",
    ),
    Program(
        "def first(ctx):\n    ctx.metrics['n'] = 3\n    return True\n"
        "def second(metrics): return metrics.get('n', 0)\n"
        "evaluators = [first, second]\ncases = [Case(name='a', inputs=1)]\ndef task(x): return x",
        "= 3",
        "= 4",
    ),
    Program(
        "def first(ctx):\n    ctx.output = 3\n    return True\ndef second(output): return output\n"
        "evaluators = [first, second]\ncases = [Case(name='a', inputs=1)]\ndef task(x): return x",
        "= 3",
        "= 4",
    ),
    Program(
        "def first(ctx):\n    ctx.inputs.append(3)\n    return True\ndef second(inputs): return len(inputs)\n"
        "evaluators = [first, second]\ncases = [Case(name='a', inputs=[1])]\ndef task(x): return 1",
        "append(3)",
        "clear()",
    ),
]
"""Evaluators that change what they judge, which the evaluators after them do not see."""
