"""Each test stands in an empty folder, without keys, and looks through what is installed once, as those of the command
line do."""

from tests.cli.conftest import _bare

__all__ = ["_bare"]
