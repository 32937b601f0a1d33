"""What the agent should know."""

from agent import CAPITALS

from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected

dataset = Dataset(
    name="capitals",
    cases=[Case(name=country, inputs=country, expected_output=CAPITALS[country]) for country in CAPITALS],
    evaluators=[EqualsExpected()],
)
