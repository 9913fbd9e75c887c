"""The command `amemgym`, and `python -m amemgym`: an interrupt while everything is imported is no traceback either."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit."""
    try:
        from amemgym.cli.main import main as command_line
    except KeyboardInterrupt:
        sys.stderr.write("amemgym: interrupted\n")
        sys.exit(130)
    command_line()


if __name__ == "__main__":
    main()
