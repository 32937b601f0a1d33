from calipers import ReportCase
from calipers.evaluators.sample import Sample
from calipers.evaluators.attempt_values import Missing


def attempt(name, case=None, cluster=None):
    return ReportCase(
        name=name,
        source_case_name=case,
        cluster=cluster,
        inputs=None,
        metadata=None,
        expected_output=None,
        output=None,
        metrics={},
        attributes={},
        results=(),
        task_duration=0.0,
        total_duration=0.0,
    )


def sample(*records, missing=()):
    made = Sample()
    for record in records:
        made.add(record, record.name)
    for reason in missing:
        made.add(attempt("lost"), Missing(reason))
    return made


def test_what_was_measured_and_what_was_left_out_are_kept_apart():
    found = sample(attempt("a"), attempt("b"), missing=["whose task failed"] * 2)
    assert found.values == ["a", "b"]
    assert found.left_out == {"whose task failed": 2}


def test_attempts_that_stand_alone_form_no_groups():
    assert sample(attempt("a"), attempt("b")).groups is None
    assert sample(attempt("a", cluster="x"), attempt("b")).groups is None
    assert sample().groups is None


def test_attempts_at_one_case_and_cases_of_one_cluster_belong_together():
    repeated = sample(attempt("a [1/2]", "a"), attempt("a [2/2]", "a"), attempt("b [1/2]", "b")).groups
    assert repeated[0] == repeated[1] != repeated[2]
    clustered = sample(attempt("a", cluster="x"), attempt("b", cluster="x"), attempt("x")).groups
    assert clustered[0] == clustered[1] != clustered[2]


def test_a_cluster_named_like_a_case_is_another_group():
    first, second, _ = sample(attempt("x"), attempt("a", cluster="x"), attempt("b", cluster="x")).groups
    assert first != second


def test_a_complete_sample_needs_no_note():
    assert sample(attempt("a")).note() is None
    assert sample(attempt("a")).note(None, "a remark") == "a remark"


def test_the_note_says_what_was_left_out_and_that_every_attempt_counts():
    found = sample(
        attempt("a [1/2]", "a"),
        attempt("a [2/2]", "a"),
        missing=["whose task failed", "without a score called 'x'", "whose task failed"],
    )
    assert found.note("and more") == (
        "3 of 5 attempts are left out: 2 whose task failed, 1 without a score called 'x'; "
        "every attempt counts: 2 attempts at 1 case; and more"
    )


def test_an_empty_sample_says_why():
    assert sample().note() == "the report has no attempts"
    assert sample(missing=["without metadata"]).note() == "nothing could be measured: 1 without metadata"
