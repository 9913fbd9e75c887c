"""The environment: an episode of a simulated user with an assistant, and the exams in it."""

from amemgym.env.environment import Environment
from amemgym.env.episode import Episode, ExamTurn, Observation, Step, UserTurn
from amemgym.env.exam import ExamItem, Grade, exam_item, exam_of_period, grade, grade_choice, option_order
from amemgym.env.probe import ProbeItem, probes_of_period
from amemgym.env.rules import DEFAULT, IMPORTED, PROTOCOLS, Rules, find_rules

__all__ = [
    "DEFAULT",
    "IMPORTED",
    "PROTOCOLS",
    "Environment",
    "Episode",
    "ExamItem",
    "ExamTurn",
    "Grade",
    "Observation",
    "ProbeItem",
    "Rules",
    "Step",
    "UserTurn",
    "exam_item",
    "exam_of_period",
    "find_rules",
    "grade",
    "grade_choice",
    "option_order",
    "probes_of_period",
]
