"""What makes two similar texts say different things: a number, a day, a negation, an opposite.

To an embedding, "turn on the light" and "turn off the light" are nearly the same. So before two texts count as the same in
meaning, these are compared:

- **Numbers**: those of both texts must be the same, in digits or words. A single `one` may be missing, as in "the red one".
- **Negations**: both texts have one, or neither has.
- **Opposites**: where one text has a word of a group (`on`, `off`), the other must not have another one in its place. The groups
  are opposite verbs and directions, halves of the day, weekdays, months, colours, places in a row and the like; `lock` and
  `unlock`, `connect` and `disconnect` are opposites by their beginning.

Opposites that are not listed ("cheap", "expensive") pass, and so does "Anna calls Bob" for "Bob calls Anna". Only English is
known.
"""

from collections import Counter

from .spelling import compared_words, number_words

_OPPOSITES = (
    "on off", "open close shut", "start stop", "begin end finish", "up down", "left right", "in out", "inside outside",
    "front back", "top bottom", "upstairs downstairs", "north south east west", "buy sell",
    "increase decrease", "raise lower", "more less fewer", "louder quieter", "brighter dimmer darker", "warmer cooler colder",
    "hotter cooler colder", "hot cold", "faster slower", "higher lower", "add remove delete", "create delete", "accept decline reject",
    "allow deny forbid block", "approve reject", "confirm cancel", "book cancel", "enable disable", "before after", "early late",
    "earlier later", "am pm", "morning afternoon evening night", "today tomorrow yesterday", "arrive depart leave", "arrival departure",
    "send receive", "send cancel", "lend borrow", "push pull", "give take", "win lose", "pass fail", "true false", "yes no", "always never",
    "all none", "first second third fourth fifth last", "next previous", "include exclude", "with without", "play pause", "mute unmute",
    "credit debit", "deposit withdraw", "import export", "login logout", "minimum maximum", "min max", "celsius fahrenheit",
    "monday tuesday wednesday thursday friday saturday sunday",
    "january february march april may june july august september october november december",
    "red orange yellow green blue purple pink brown black white",
)  # fmt: skip
"""Groups of words of which one excludes the others."""
_NEGATIONS = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "nobody",
        "nothing",
        "nowhere",
        "neither",
        "nor",
        "without",
        "cannot",
        "nope",
        "dont",
        "doesnt",
        "didnt",
        "cant",
        "wont",
    ]
)
_REVERSING = ("un", "dis", "de", "non")
_NUMBERS = frozenset(
    word
    for number in (*range(100), 100, 10**3, 10**6, 10**9, 10**12)
    for word in number_words(number).split()
) | {"point", "minus"}


def contrast(one: str, other: str) -> str | None:
    """What two texts say differently, in words; `None` if nothing was found."""
    first, second = compared_words(one), compared_words(other)
    numbers = _numbers(first), _numbers(second)
    if numbers[0] != numbers[1]:
        told = [", ".join(sorted(each.elements())) or "none" for each in numbers]
        return f"their numbers differ: {told[0]} and {told[1]}"
    negated = [next(filter(_negates, words), None) for words in (first, second)]
    if (negated[0] is None) != (negated[1] is None):
        return f"one of them says {negated[0] or negated[1]!r}"
    mine, others = Counter(first), Counter(second)
    here, there = mine - others, others - mine
    grouped = [word for word in there if word in _GROUPS]
    for word in here:
        against = next((each for each in _reversed(word) if each in there), None)
        if against is None and word in _GROUPS:
            against = next((each for each in grouped if _exclude(word, each)), None)
        if against is not None:
            return f"{word!r} is not {against!r}"
    return None


def _numbers(words: list[str]) -> Counter[str]:
    """The numbers of a text, each in words."""
    found: list[list[str]] = [[]]
    for word in words:
        if word in _NUMBERS or word[0].isdigit():
            found[-1].append(word)
        elif found[-1]:
            found.append([])
    said = (" ".join(each).removeprefix("point ").removesuffix(" point") for each in found)
    return Counter(each for each in said if each not in {"", "one", "point", "minus"})


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


def _reversed(word: str) -> list[str]:
    """What a word becomes by a beginning that reverses it, or without one."""
    longer = [f"{before}{word}" for before in _REVERSING]
    return longer + [word.removeprefix(before) for before in _REVERSING if word.startswith(before)]


def _exclude(word: str, other: str) -> bool:
    """Whether two words are of one group, and not the same there."""
    groups, others = _GROUPS[word], _GROUPS[other]
    return any(groups[number] != others[number] for number in groups.keys() & others.keys())


def _forms(word: str) -> list[str]:
    """A word as it is inflected, and some ways in which no word is: they do no harm."""
    stem = word.removesuffix("e")
    return [
        word,
        f"{word}s",
        *(f"{each}{end}" for each in (stem, f"{stem}{stem[-1]}") for end in ("ed", "ing")),
    ]


def _by_word() -> dict[str, dict[int, str]]:
    """By each word in all its forms: the groups it is in, and what it is there."""
    found: dict[str, dict[int, str]] = {}
    for number, group in enumerate(_OPPOSITES):
        for word in group.split():
            for form in _forms(word):
                found.setdefault(form, {})[number] = word
    return found


_GROUPS = _by_word()
