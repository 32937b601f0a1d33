import json

from calipers.files import dataset_schema


def test_the_schema_goes_to_standard_output_or_to_a_file(calipers, folder):
    done = calipers("schema")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == dataset_schema()
    written = calipers("schema", "--out", "new/cases.schema.json")
    assert (written.stdout, written.stderr) == ("", "Wrote new/cases.schema.json\n")
    assert (folder / "new/cases.schema.json").read_text(encoding="utf-8") == done.stdout


def test_it_knows_the_types_and_evaluators_that_are_named(calipers, write):
    write("mine.py", "def near(output, by: int): ...\n")
    args = ["--types", "builtins:int", "--types", "builtins:str", "--evaluator-type", "mine:near"]
    schema = json.loads(calipers("schema", *args).stdout)
    case = schema["$defs"]["dataset.case"]["properties"]
    assert case["inputs"]["type"] == "integer"
    assert "near" in json.dumps(schema["$defs"]["dataset.evaluator"])


def test_a_name_that_leads_nowhere_is_wrong_usage(calipers, folder):
    assert calipers("schema", "--types", "nowhere:X").exit_code == 2
    assert calipers("schema", "--out", ".").exit_code == 2


def test_the_schema_of_voice_files_is_another(calipers):
    done = calipers("schema", "--voice")
    assert json.loads(done.stdout)["required"] == ["agent", "prompts"]
    done = calipers("schema", "--voice", "--types", "app:Question")
    assert (done.exit_code, "--types are those of dataset files" in done.stderr) == (2, True)
