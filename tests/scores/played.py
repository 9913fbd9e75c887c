"""Runs as a comparison gets them, made of right and wrong answers: no model, no files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amemgym.evaluate import EpisodeResult, ExamResult, UpperBoundAnswer, UpperBoundResult
from amemgym.scores import gathered
from amemgym.scores.comparison import Played

SHA = "ab" * 32
#: an agent's answers: users → periods → one answer a question, 1 right, 0 wrong, None ended in an error
Answers = Sequence[Sequence[Sequence[int | None]]]


def played(
    agents: Mapping[str, Answers],
    /,
    *,
    reference: Sequence[str] = (),
    users: int | None = None,
    periods: int = 1,
    model: str = "openai:m",
    off_policy: str | None = None,
    bound: int | None = 1,
    options: int = 2,
    trials: int = 1,
    **compared: Any,
) -> Played:
    """A run of these answers. `users` are those planned, if more than there are answers of."""
    planned = users or max((len(answers) for answers in agents.values()), default=1)
    described: dict[str, Any] = {
        "amemgym": "0",
        "protocol": {"name": "amemgym", "version": 1, "first_score": "ratio_of_means"},
        "data": {"sha256": SHA, "users": planned, "periods": periods},
        "agents": [{"name": name, **({"reference": True} if name in reference else {})} for name in agents],
        "model": {"model": model},
        "user_model": {"model": "openai:u"},
        "seed": 0,
        "trials": trials,
        "off_policy": {"agent": off_policy, "run": "f" * 64} if off_policy else None,
    }
    manifest = {
        "format": 2,
        "fingerprint": model.encode().hex().ljust(64, "0"),
        "data": {"name": "lives", "sha256": SHA, "played": "ab" * 32, "users": planned},
        "compared": described | compared,
        "upper_bound": {"run": model if bound is not None else None, "agents": {}},
    }
    episodes = [
        episode(name, user, answers_of, trial, options)
        for name, answers in agents.items()
        for user, answers_of in enumerate(answers)
        for trial in range(trials)
    ]
    bounds = [] if bound is None else [_bound(model, user, bound) for user in range(planned)]
    return Played(manifest, gathered(manifest, episodes, bounds))


def episode(agent: str, user: int, answers: Sequence[Sequence[int | None]], trial: int, options: int) -> EpisodeResult:
    """One user's exams: gold stands first, a wrong answer is the second option."""
    exams = tuple(
        ExamResult(
            period,
            question,
            tuple(range(options)),
            1,
            ("v",),
            None if right is None else 2 - right,
            "error" if right is None else "ok",
            right == 1,
            error="lost" if right is None else None,
        )
        for period, rights in enumerate(answers)
        for question, right in enumerate(rights)
    )
    return EpisodeResult(agent, user, f"u{user}", trial, exams)


def _bound(model: str, user: int, right: int) -> UpperBoundResult:
    answers = tuple(
        UpperBoundAnswer(question, ("v",), (0, 1), 1, 2 - right, "ok", bool(right)) for question in range(10)
    )
    return UpperBoundResult(model, user, f"u{user}", answers)
