import pytest

from calipers import Case, Dataset

CASES = [Case(name="hello", inputs="hello"), Case(name="good day", inputs="good day")]


def shout(inputs):
    return inputs.upper()


def loud(output):
    return output.isupper()


@pytest.fixture
def runs(kept):
    dataset = Dataset(name="greetings", cases=CASES, evaluators=[loud])
    first = dataset.evaluate_sync(shout, store=kept, progress=False).reuse.run
    dataset.add_evaluator(lambda output: True)
    return first, dataset.evaluate_sync(shout, store=kept, progress=False, reuse=True, repeat=2).reuse.run


def test_it_says_what_was_taken_over_and_what_was_computed(calipers, runs):
    first, second = runs
    told = calipers("why", "latest", "hello", "loud").stdout
    assert told.startswith(f"run {second}, shout\nhello [1/2]:\n")
    assert f"taken over from run {first}" in told
    assert "hello [2/2]:\n" in told
    assert "not asked to reuse anything" in calipers("why", first, "hello", "loud").stdout
    only = calipers("why", second, "hello [2/2]", "loud").stdout
    assert "hello [1/2]" not in only


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["latst", "hello", "loud"], "did you mean 'latest'?"),
        (["latest", "helo", "loud"], "is called 'helo'; did you mean 'hello'?"),
        (["latest", "zzz", "loud"], "there are 'hello', 'good day'"),
        (["latest", "hello", "lout"], "no evaluator of the run"),
        (["latest", "hello", "lout"], "did you mean 'loud'?"),
        (["latest", "hello"], "Missing argument 'EVALUATOR'"),
    ],
)
def test_what_is_not_there_is_wrong_usage_and_what_may_be_meant_is_told(calipers, runs, args, told):
    done = calipers("why", *args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr


def test_a_column_of_the_report_is_explained_by_the_evaluator_it_comes_from(calipers, kept):
    def sizes(output):
        return {"length": len(output)}

    Dataset(name="d", cases=CASES, evaluators=[sizes]).evaluate_sync(shout, store=kept, progress=False)
    done = calipers("why", "latest", "hello", "length")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "\nlength is a result of sizes\nhello:\n" in done.stdout
    assert "did you mean 'length'?" in calipers("why", "latest", "hello", "lenght").stderr
