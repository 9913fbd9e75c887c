"""Scenarios made: from a language model, stage by stage, or from the scenario bank without any model."""

from amemgym.generate.bank import bank_names, is_bank_name, load_pack, open_bank, pack_names
from amemgym.generate.make import (
    GenerationReport,
    Plan,
    generate_data,
    go_on_with,
    is_begun,
    make_planned,
    plan_generation,
)
from amemgym.generate.shape import CONFIGURATIONS, Shape, make_shape
from amemgym.generate.sources import Users, all_data_names, check_dataset, load_dataset, open_users, users_sha256
from amemgym.generate.spec import GenerationSpec
from amemgym.generate.watch import GenerationWatcher

__all__ = [
    "CONFIGURATIONS",
    "GenerationReport",
    "GenerationSpec",
    "GenerationWatcher",
    "Plan",
    "Shape",
    "Users",
    "all_data_names",
    "bank_names",
    "check_dataset",
    "generate_data",
    "go_on_with",
    "is_bank_name",
    "is_begun",
    "load_dataset",
    "load_pack",
    "make_planned",
    "make_shape",
    "open_bank",
    "open_users",
    "pack_names",
    "plan_generation",
    "users_sha256",
]
