"""Changes of a text that a search tries: what a hurried, careless or cunning user would write instead.

| module | what is in it | keeps the meaning |
|---|---|---|
| `mutation` | `Mutation`, the base | as far as its kind does |
| `slips` | `Typos`, `Homophones`, `Casing`, `Spacing`: how people write | yes |
| `rewording` | `Synonyms`, `Politeness`, `Reordered`: the same in other words | yes |
| `paraphrase` | `ModelParaphrase`, `Paraphrases`: the same in a model's words | yes, as far as the model keeps it |
| `turning` | `Negated`: the opposite | no |
| `padding` | `Distracted`, `Longer`, `Shorter`, `Repeated`: more around it, or less | yes, but for `Shorter` |
| `languages` | `MixedLanguage`: words in another language | yes |
| `encodings` | `Encoded`: an encoding or disguise of `calipers.rollouts.attacks` | yes |
| `mutation_library` | `MUTATIONS`: one of each, by name | |
"""

from .encodings import Encoded
from .languages import MixedLanguage
from .mutation import Mutation
from .mutation_library import MUTATIONS, as_mutations
from .padding import Distracted, Longer, Repeated, Shorter
from .paraphrase import ModelParaphrase, Paraphrases
from .rewording import Politeness, Reordered, Synonyms
from .slips import Casing, Homophones, Spacing, Typos
from .turning import Negated

__all__ = [
    "MUTATIONS",
    "Casing",
    "Distracted",
    "Encoded",
    "Homophones",
    "Longer",
    "MixedLanguage",
    "ModelParaphrase",
    "Mutation",
    "Negated",
    "Paraphrases",
    "Politeness",
    "Reordered",
    "Repeated",
    "Shorter",
    "Spacing",
    "Synonyms",
    "Typos",
    "as_mutations",
]
