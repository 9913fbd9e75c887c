"""The scenario bank: fragments of text in data files, composed into scenarios by a seeded sampler."""

from amemgym.generate.bank.pack import Pack, load_pack, pack_names
from amemgym.generate.bank.people import Person, draw_person, profile
from amemgym.generate.bank.sets import Bank, bank_names, is_bank_name, open_bank

__all__ = [
    "Bank",
    "Pack",
    "Person",
    "bank_names",
    "draw_person",
    "is_bank_name",
    "load_pack",
    "open_bank",
    "pack_names",
    "profile",
]
