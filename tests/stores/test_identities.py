"""What attempts are known by in a store."""

import pytest

from calipers import Case
from calipers.identity.fingerprint import Identity
from calipers.run.work import work_items
from calipers.scoring.evaluator_plan import make_plan
from calipers.stores.identities import WorkKeys


@pytest.mark.parametrize("repeat", [1, 3])
def test_a_case_without_form_is_counted_once_however_often_it_is_repeated(repeat):
    keys = WorkKeys(Identity("task", {}), bounded=False)
    cases = [Case(inputs=object()), Case(inputs=1), Case(inputs=object())]
    found = list(keys.of(work_items(cases, make_plan([]), repeat=repeat)))
    assert keys.unknown_cases == 2
    assert [work.attempt_key is None for work in found] == [
        case.inputs != 1 for case in cases for _ in range(repeat)
    ]
