"""A judgement belongs to the output that was judged, whoever took it over."""

import itertools

from calipers import Case, CaseLifecycle, Dataset


def always(output):
    return True


def said(output):
    return output


def counting_task():
    numbers = itertools.count()

    def count(inputs):
        return f"output {next(numbers)}"

    count.version = "1"
    return count


def dataset(*evaluators, cases=1):
    return Dataset(
        name="d",
        cases=[Case(name=f"c{n}", inputs="the same") for n in range(cases)],
        evaluators=[*evaluators],
    )


def verdicts(report):
    return [(case.output, [result.value for result in case.results]) for case in report.cases]


def test_an_attempt_that_its_first_run_made_again_lends_no_results_to_the_copy_of_the_old_one(memory_store):
    task = counting_task()
    options = {"store": memory_store, "progress": False}
    first = dataset(always).evaluate_sync(task, **options, lifecycle=CaseLifecycle)
    options["lifecycle"] = CaseLifecycle  # with hooks, an attempt that lacks a result is made again
    dataset(always).evaluate_sync(task, **options, reuse=True)
    again = dataset(always, said).evaluate_sync(task, **options, resume=first.reuse.run)
    assert verdicts(again) == [("output 1", [True, "output 1"])]
    third = dataset(always, said).evaluate_sync(task, **options, reuse=True)
    assert verdicts(third) == [("output 2", [True, "output 2"])]


def test_copies_of_one_attempt_share_what_was_said_of_it(memory_store):
    task = counting_task()
    options = {"store": memory_store, "progress": False}
    dataset(always).evaluate_sync(task, **options)
    dataset(said).evaluate_sync(task, **options, reuse=True)
    both = dataset(always, said).evaluate_sync(task, **options, reuse=True)
    assert verdicts(both) == [("output 0", [True, "output 0"])]
    assert both.reuse.cells_reused == 2
