"""The package's version, from its metadata."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("amemgym")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"
