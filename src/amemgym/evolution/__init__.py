"""Self-evolution: feedback on an exam → a revised policy of memory → the next period."""

from amemgym.evolution.arms import NONE, Arm, arms_of
from amemgym.evolution.coach import TRIES, Evolution, Revision
from amemgym.evolution.directory import EVOLUTION, EvolutionDirectory
from amemgym.evolution.spec import RUN_SETTINGS, EvolveSpec, make_evolve_spec
from amemgym.evolution.summary import summarise_evolution

__all__ = [
    "EVOLUTION",
    "NONE",
    "RUN_SETTINGS",
    "TRIES",
    "Arm",
    "Evolution",
    "EvolutionDirectory",
    "EvolveSpec",
    "Revision",
    "arms_of",
    "make_evolve_spec",
    "summarise_evolution",
]
