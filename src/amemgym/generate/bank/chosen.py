"""What is chosen of a pack for one user: some domains, of each some variables, of each some values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from amemgym.generate.bank.pack import Domain, Value


@dataclass(frozen=True)
class StateVariable:
    """A variable of a user's schema: where it stands in the pack, and the values drawn for this user."""

    domain: str
    variable: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Chosen:
    """Domains by id, and the schema's variables by their name there."""

    domains: Mapping[str, Domain]
    variables: Mapping[str, StateVariable]

    @cached_property
    def schema(self) -> dict[str, tuple[str, ...]]:
        """Variable → its values."""
        return {name: variable.values for name, variable in self.variables.items()}

    def required(self, domain: str) -> list[str]:
        """The variables that a domain's question depends on."""
        return [name for name, variable in self.variables.items() if variable.domain == domain]

    def value(self, name: str, value: str) -> Value:
        """What the pack can say of that value of a schema's variable."""
        variable = self.variables[name]
        return self.domains[variable.domain].variables[variable.variable].values[value]
