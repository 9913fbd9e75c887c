"""The embedded model: no network, no key. A stand-in to compare memories with, not a language model."""

from amemgym.llm.offline.model import OfflineModel
from amemgym.llm.offline.reader import Reader

__all__ = ["OfflineModel", "Reader"]
