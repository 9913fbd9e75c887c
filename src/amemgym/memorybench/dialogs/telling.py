"""What is told of a prediction's data and replies: in sentences, each kind of problem of a file once."""

from __future__ import annotations

from collections.abc import Sequence

from amemgym.memorybench.dialogs.pointfiles import Points
from amemgym.memorybench.dialogs.replay import Prediction
from amemgym.memorybench.dialogs.sessions import Session
from amemgym.memorybench.problems import Problem, counted, together

#: data sets whose prompts are over a corpus, which is no part of a data point
WITH_CORPUS = ("Locomo", "DialSim")
#: problems that are told, those that say the same as one
TOLD = 5


def problems_told(problems: Sequence[Problem]) -> list[str]:
    """The problems of the data as lines, and how many kinds of them are not shown."""
    lines = together(problems)
    more = len(lines) - TOLD
    return [*lines[:TOLD], *([f"and {counted(more, 'more kind')} of problems"] if more > 0 else [])]


def remarks(remembered: Points, answered: Points, heard: Sequence[Session]) -> list[str]:
    """What somebody should know of the data before it is played."""
    told = []
    silent = sum(not point.dialog for point in remembered.points)
    if silent:
        of = f"{silent} of {counted(len(remembered.points), 'training point')}"
        told.append(f"{of} {'has' if silent == 1 else 'have'} no dialog and {'is' if silent == 1 else 'are'} left out")
    both = {session.key for session in heard} & {point.key for point in answered.points}
    if both:
        are = "is" if len(both) == 1 else "are"
        told.append(
            f"{len(both)} of the test prompts {are} among the dialogs that are remembered ({min(both, key=str)})"
        )
    over = [name for name in answered.datasets if name.startswith(WITH_CORPUS)]
    if over:
        told.append(
            f"the prompts of {', '.join(over[:3])} are about a corpus that MemoryBench gives its systems beside the"
            " dialogs; it is no part of data points, so they are answered without it"
        )
    return told


def missing_told(baseline: str, predictions: Sequence[Prediction]) -> str:
    """That some prompts of an agent have no response, and why."""
    missing = [one for one in predictions if one.response is None]
    first, kinds = missing[0], len({str(one.error) for one in missing})
    same = "" if kinds == 1 else f", {kinds} kinds of error"
    return (
        f"agent '{baseline}': {len(missing)} of {counted(len(predictions), 'prompt')}"
        f" {'has' if len(missing) == 1 else 'have'} no response{same} (the first, {first.point.dataset}"
        f" {first.point.test_idx}: {first.error}); null stands in {'its' if len(missing) == 1 else 'their'} place"
    )
