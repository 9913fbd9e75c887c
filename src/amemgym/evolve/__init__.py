"""Self-evolution: feedback on an exam → a revised policy of memory → the next period."""

from amemgym.evolve.arms import NONE, Arm, arms_of
from amemgym.evolve.coach import Evolution, Revision
from amemgym.evolve.directory import EVOLUTION, EvolutionDirectory
from amemgym.evolve.spec import RUN_SETTINGS, EvolveSpec, make_evolve_spec
from amemgym.evolve.summary import summarise_evolution

__all__ = [
    "EVOLUTION",
    "NONE",
    "RUN_SETTINGS",
    "Arm",
    "Evolution",
    "EvolutionDirectory",
    "EvolveSpec",
    "Revision",
    "arms_of",
    "make_evolve_spec",
    "summarise_evolution",
]
