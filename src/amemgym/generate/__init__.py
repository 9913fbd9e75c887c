"""Scenarios made: from a language model, stage by stage, or from the scenario bank without any model."""

from amemgym.generate.bank import bank_names, is_bank_name, open_bank
from amemgym.generate.shape import CONFIGURATIONS, Shape, make_shape
from amemgym.generate.sources import Users, all_data_names, check_dataset, load_dataset, open_users, users_sha256

__all__ = [
    "CONFIGURATIONS",
    "Shape",
    "Users",
    "all_data_names",
    "bank_names",
    "check_dataset",
    "is_bank_name",
    "load_dataset",
    "make_shape",
    "open_bank",
    "open_users",
    "users_sha256",
]
