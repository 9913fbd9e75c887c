"""Scenarios: the simulated users a run is grounded on, and the data sets they come in."""

from amemgym.scenario.dataset import (
    Dataset,
    dataset_json,
    load_dataset,
    parse_dataset,
    place_of_data,
    read_dataset,
    save_dataset,
)
from amemgym.scenario.model import AnswerOption, Period, Question, Scenario, Session, Update, UserProfile, parse_time
from amemgym.scenario.sources import data_names, find_data, is_data_name
from amemgym.scenario.split import Split, split_users
from amemgym.scenario.validate import Fault, find_faults

__all__ = [
    "AnswerOption",
    "Dataset",
    "Fault",
    "Period",
    "Question",
    "Scenario",
    "Session",
    "Split",
    "Update",
    "UserProfile",
    "data_names",
    "dataset_json",
    "find_data",
    "find_faults",
    "is_data_name",
    "load_dataset",
    "parse_dataset",
    "parse_time",
    "place_of_data",
    "read_dataset",
    "save_dataset",
    "split_users",
]
