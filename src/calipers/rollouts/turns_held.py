"""How many turns a target holds: the survival curve of turns to the first success.

A rollout that ended without success was watched for as many turns as it had, and might have succeeded in the next one: it
is censored. The mean number of turns of the rollouts that did succeed would hide them, and would look the worse for the
target the sooner testers give up.

A turn is a level of the tree: where several branches are tried at each turn, the first of them to succeed counts, so trees
of different width are not to be compared. The curve takes for granted that rollouts end for other reasons than being about
to succeed. A limit on turns is such a reason; a tester that gives up where it is refused is not, and the curve is then too
kind to testers beyond that turn.
"""

from calipers.stats import Survival, kaplan_meier

from .rollout_outcome import Rollouts, by_unit, first_success, rollouts_of, succeeded


def turns_to_success(rollouts: Rollouts, *, confidence: float = 0.95) -> Survival | None:
    """The share of rollouts in which the target had not given way, turn by turn; `None` if none was judged.

    Rollouts that nobody judged are left out. The rollouts after one goal are one cluster.

    Args:
        rollouts: a report whose outputs are rollouts, or the trees themselves.
        confidence: of every interval.
    """
    graphs = [graph for graph in rollouts_of(rollouts) if succeeded(graph) is not None]
    _, groups = by_unit(graphs)
    times: list[int] = []
    happened: list[bool] = []
    clusters: list[int] = []
    for cluster, group in enumerate(groups):
        for graph in group:
            path = first_success(graph)
            times.append(graph.depth if path is None else len(path))
            happened.append(path is not None)
            clusters.append(cluster)
    repeated = len(groups) < len(times)
    return kaplan_meier(times, happened, clusters=clusters if repeated else None, confidence=confidence)
