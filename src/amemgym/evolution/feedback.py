"""What an assistant is told of its exams: taken from the training users' results, and from nobody else's.

There is a limit to how much is told at once. Which questions are told is drawn by seed; complete feedback tells those
that were answered wrongly first, as there is more to learn from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amemgym.evaluate import Examined
from amemgym.scenario import Scenario
from amemgym.seeds import generator
from amemgym.tasks import (
    AnsweredQuestion,
    AskedQuestion,
    CompleteFeedback,
    Feedback,
    FeedbackKind,
    QuestionFeedback,
)

#: questions of all users that are told of at once; lines of a memory, and characters of a line
QUESTIONS, LINES, LINE = 24, 40, 300


def feedback_of(
    kind: FeedbackKind,
    users: Sequence[Scenario],
    period: int,
    exams: Mapping[str, Sequence[Examined]],
    seed: int,
    questions: int = QUESTIONS,
) -> tuple[Feedback, ...]:
    """The feedback of one period: an entry for each user with a question that is told of, in the users' order.

    `exams` are by user id. Exams that ended in an error are left out.
    """
    told = _drawn(kind, users, period, exams, seed)[:questions]
    found: list[Feedback] = []
    for user in users:
        chosen = sorted((e for name, e in told if name == user.id), key=lambda exam: exam.result.question)
        if not chosen:
            continue
        if kind == "question":
            found.append(QuestionFeedback(tuple(_asked(user, exam) for exam in chosen)))
        else:
            found.append(CompleteFeedback(tuple(_answered(user, exam) for exam in chosen), _exposed(user, period)))
    return tuple(found)


def _drawn(
    kind: FeedbackKind,
    users: Sequence[Scenario],
    period: int,
    exams: Mapping[str, Sequence[Examined]],
    seed: int,
) -> list[tuple[str, Examined]]:
    """All questions that can be told of, in the order in which they are taken."""
    known = [(user.id, exam) for user in users for exam in exams.get(user.id, ()) if exam.result.counts]
    generator(seed, "feedback", period).shuffle(known)
    return known if kind == "question" else sorted(known, key=lambda entry: entry[1].result.correct)


def _asked(user: Scenario, exam: Examined) -> AskedQuestion:
    return AskedQuestion(user.qas[exam.result.question].query, _lines(exam))


def _answered(user: Scenario, exam: Examined) -> AnsweredQuestion:
    asked, result = user.qas[exam.result.question], exam.result
    options = tuple(asked.answer_choices[place].answer for place in result.order)
    return AnsweredQuestion(asked.query, _lines(exam), options, result.option, result.gold)


def _exposed(user: Scenario, period: int) -> tuple[tuple[str, str], ...]:
    """What the period's sessions told; in data that does not say what they do, what changed by then."""
    stretch = user.periods[period]
    names = dict.fromkeys(name for session in stretch.sessions for name in session.exposed_states)
    if not any(session.exposed_states for each in user.periods for session in each.sessions):
        names = dict.fromkeys(stretch.updates)
    return tuple((name, stretch.state[name]) for name in names if name in stretch.state)


def _lines(exam: Examined) -> tuple[str, ...]:
    """The latest lines of what memory gave back; a record is one text of many lines."""
    lines = [line for memory in exam.memories for line in memory.splitlines() if line.strip()]
    return tuple(line if len(line) <= LINE else f"{line[: LINE - 1]}…" for line in lines[-LINES:])
