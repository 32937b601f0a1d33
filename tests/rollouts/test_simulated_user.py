import pytest

from calipers.errors import InvalidOptionError, RolloutError
from calipers.rollouts import Environment, ModelUser, Persona, SimulatedUser

USER = SimulatedUser(
    "Book a table for two.",
    answers={"which day|when": "On Friday.", "name": "Ada."},
    done="booked",
    persona=Persona(opening="Good day. {goal}", answering="{answer} Thank you.", insisting="Hm. {goal}"),
)


class Waiter:
    """Asks for the day and the name, and books."""

    blocking = False

    def reply(self, messages):
        said = " ".join(message.content for message in messages if message.role == "user")
        if "Friday" not in said:
            return "Which day?"
        return "Your table is booked." if "Ada" in said else "Under which name?"


class Parrot:
    blocking = False

    def reply(self, messages):
        return "How nice."


def attacks(graph):
    return [node.attack for node in graph.walk()]


def test_a_user_states_its_errand_answers_questions_and_leaves_when_it_is_done():
    graph = Environment(Waiter(), USER, success=USER.reached, depth=9).rollout(0)
    assert graph.metadata["goal"] == USER.goal
    assert attacks(graph) == ["Good day. Book a table for two.", "On Friday. Thank you.", "Ada. Thank you."]
    assert graph.stopped == "the tester had nothing left to say"
    assert [node.success for node in graph.walk()] == [False, False, True]


@pytest.mark.parametrize(
    "user", [USER, ModelUser(Parrot(), goal="Book a table for two.")], ids=["rules", "model"]
)
def test_a_rollout_is_not_filed_under_another_goal_than_the_one_its_user_pursues(user):
    with pytest.raises(InvalidOptionError, match=r"its own goal.*cannot be filed under 'A taxi\.'"):
        Environment(Waiter(), user, goals=[user.goal, "A taxi."])
    environment = Environment(Waiter(), user)
    assert environment.goals == [user.goal]
    for seed in ("A taxi.", "Book a table for three."):
        with pytest.raises(InvalidOptionError, match="its own goal"):
            environment.eval_rollout(seed)


@pytest.mark.parametrize("patience", [0, 1, 2])
def test_a_user_that_gets_no_further_repeats_itself_and_leaves(patience):
    user = SimulatedUser(done="booked", patience=patience)
    graph = Environment(Parrot(), user, goals=["A table."], success=user.reached, depth=9).rollout(0)
    assert attacks(graph) == ["A table.", *["I do not know. A table."] * patience]
    assert not any(node.success for node in graph.walk())


@pytest.mark.parametrize(
    "options",
    [
        {"done": "("},
        {"done": ""},
        {"done": "x", "answers": {"(": "a"}},
        {"done": "x", "patience": -1},
        {"done": "x", "goal": " "},
        {"done": "x", "persona": "a pirate"},
    ],
    ids=str,
)
def test_a_user_that_cannot_be_is_refused(options):
    with pytest.raises(InvalidOptionError):
        SimulatedUser(**options)


def test_a_phrase_that_cannot_be_filled_in_is_refused():
    with pytest.raises(InvalidOptionError, match="answer"):
        Persona(opening="{answer}")


class Playing:
    """A language model that plays from a script."""

    blocking = False

    def __init__(self, *texts):
        self.texts = texts
        self.told = []

    def reply(self, messages):
        self.told.append(messages)
        return self.texts[sum(message.role == "assistant" for message in messages)]


def test_a_model_is_told_who_to_be_and_ends_when_it_has_what_it_wants():
    model = Playing("Friday, please. [DONE]", "Ada", "[DONE]")
    user = ModelUser(model, persona=Persona(description="a pirate"))
    graph = Environment(Waiter(), user, goals=["a table"], depth=9).rollout(0)
    assert attacks(graph) == ["Friday, please.", "Ada"]
    assert graph.stopped == "the tester had nothing left to say"
    system, *talk = model.told[1]
    assert "a pirate" in system.content
    assert "a table" in system.content
    assert [message.role for message in talk] == ["user", "assistant", "user"]


def test_a_model_that_says_nothing_fails():
    with pytest.raises(RolloutError, match="said nothing"):
        Environment(Waiter(), ModelUser(Playing("[DONE]")), goals=["g"]).rollout(0)


@pytest.mark.parametrize("options", [{"stop_token": ""}, {"instruction": "{unknown}"}], ids=str)
def test_a_model_user_that_cannot_be_is_refused(options):
    with pytest.raises(InvalidOptionError):
        ModelUser(Playing("a"), **options)
