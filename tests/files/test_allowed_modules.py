"""Objects that a file names as `module:Name`."""

import json.decoder
import sys
import types

import pytest

from calipers.files.named_objects import import_allowed
from calipers.files.problem import Problems


def imported(name, *allow):
    problems = Problems("f.yaml")
    found = import_allowed(name, allow, ("agent",), problems, what="agents")
    return found, [problem.message for problem in problems.found]


@pytest.mark.parametrize("pattern", ["json.decoder", "json.*", "*", "json.dec*"])
def test_a_module_that_is_allowed_by_name_or_pattern_is_imported(pattern):
    assert imported("json.decoder:JSONDecoder", pattern) == (json.decoder.JSONDecoder, [])


@pytest.mark.parametrize("allow", [(), ("json",), ("jso",), ("json.encoder", "json.decoderx")], ids=str)
def test_any_other_is_not(allow):
    found, messages = imported("json.decoder:JSONDecoder", *allow)
    assert found is None
    assert messages == [
        "agents of the module 'json.decoder' are not allowed here: allow_modules=['json.decoder'] allows them"
    ]


@pytest.mark.parametrize(("name", "module"), [("app.py:fn", "app:fn"), ("./src/app.py:fn", "src.app:fn")])
def test_a_file_is_no_module_and_its_module_is_named(name, module):
    assert imported(name, "*") == (None, [f"{name} names a file: name its module, {module}"])


def test_a_pattern_for_what_is_in_a_package_covers_the_package():
    assert imported("json:loads", "json.*") == (json.loads, [])


@pytest.mark.parametrize("name", ["json:nothing", "json:decoder.JSONDecoder", "json:", "nowhere_at_all:x"])
def test_what_is_not_there_is_a_problem(name):
    found, (message,) = imported(name, "*")
    assert found is None
    assert f"{name} could not be imported" in message


def test_nothing_is_no_object(monkeypatch):
    module = types.ModuleType("empty_handed")
    module.nothing = None
    monkeypatch.setitem(sys.modules, "empty_handed", module)
    assert imported("empty_handed:nothing", "*") == (None, ["empty_handed:nothing is None"])
