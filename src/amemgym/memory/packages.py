"""The packages that a memory stands on: whether they are here, in a version that works."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from packaging.specifiers import SpecifierSet

from amemgym.errors import UsageError


def check_packages(packages: Mapping[str, str], extra: str) -> None:
    """Raises UsageError for a package that is missing or of a version that does not work, and says what to install."""
    for name, versions in packages.items():
        install = f"pip install 'amemgym[{extra}]'" if extra else f"pip install '{name}{versions}'"
        try:
            found = version(name)
        except PackageNotFoundError:
            raise UsageError(f"the package {name} is not installed; install it with: {install}") from None
        if not SpecifierSet(versions, prereleases=True).contains(found):
            raise UsageError(
                f"{name} {found} is not supported; versions that work: {versions}. Install with: {install}"
            )


def package_versions(packages: Mapping[str, str]) -> dict[str, str]:
    """The installed version of each package that is installed."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
