"""`calipers label`: people's labels of a kept run."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_stored_evaluator
from calipers.cli.options import run_argument, store_option

EXAMPLES = """
# answer a question about the attempts of the last run: y or n for each
calipers label latest --question 'Is the answer polite?'
# go on where you stopped: the same line again
calipers label latest --question 'Is the answer polite?'
# on a scale, as someone else, without what the case expects
calipers label latest --question 'How helpful?' --scale 1-5 --as ann --hide-expected
# the twenty attempts that tell most about a judge
calipers label latest --question 'Is the answer polite?' --next 20 --judge Polite
# to be labelled in a spreadsheet, and back
calipers label latest --question 'Is the answer polite?' --blank --export sheet.csv
calipers label latest --import sheet.csv --as ann
# do people agree with each other?
calipers label latest --agreement
"""


@click.command(cls=Command, examples=EXAMPLES)
@run_argument
@click.option(
    "--question", metavar="QUESTION", help="What to ask about each attempt; labels are kept under it."
)
@click.option("--as", "person", metavar="PERSON", help="Who answers. Default: your login name.")
@click.option(
    "--scale", metavar="LOW-HIGH", help="Answers are whole numbers, such as 1-5. Default: yes or no."
)
@click.option("--choices", metavar="WORDS", help="Answers are one of these words, such as good,bad,unsure.")
@click.option("--hide-expected", is_flag=True, help="Do not show what the cases expect.")
@click.option(
    "--show-metadata", is_flag=True, help="Show the metadata of the cases, for a question that needs it."
)
@click.option(
    "--next",
    metavar="N",
    type=click.IntRange(min=1),
    help="Only N attempts: those that tell most about the judge, or random ones where there is none.",
)
@click.option(
    "--judge",
    metavar="NAME",
    shell_complete=complete_stored_evaluator,
    help="The evaluator whose result the labels are to correct, for --next. Default: the one that is called like the question.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    help="Of the random order. Default: that of earlier answers to the question, so that people label the same attempts first.",
)
@click.option(
    "--export",
    metavar="FILE",
    help="Write labels to a file that ends in .csv or .jsonl; - is standard output. --question and --as choose which.",
)
@click.option(
    "--blank",
    is_flag=True,
    help="With --export: write attempts without an answer instead, with a blank column for it, to be labelled elsewhere.",
)
@click.option(
    "--import",
    "import_",
    metavar="FILE",
    help="Keep the labels in a file. --question and --as are for lines that do not say what was asked, and who answered.",
)
@click.option(
    "--agreement", is_flag=True, help="Say how well people agree with each other, and where they differ."
)
@store_option
def command(**options: Any) -> int:
    """Answer a question about attempts of a kept RUN, one key for each: labels by which a judge is checked and corrected.

    You see what was asked and what came of it, and neither what judges or other people said, nor how your answers turned out so far. Attempts come in random order. Each answer is kept at once: stop whenever you like, and go on with the same line. Labels never count as passed.

    Exit codes: 0 labelled, written or shown, 2 wrong usage, or no such run, 3 it could not be read or written, 4 no attempts, 130 interrupted; what was answered is kept.
    """
    from calipers.cli.actions.label import label

    return label(**options)
