"""`python -m amemgym.generate.bank.check [PACK]`: every fault of a pack's files, for those who write them."""

from __future__ import annotations

import sys

from amemgym.errors import AMemGymError
from amemgym.generate.bank.pack import load_pack


def main() -> int:
    try:
        pack = load_pack(sys.argv[1] if len(sys.argv) > 1 else "en")
    except AMemGymError as error:
        print(error)  # noqa: T201
        return 2
    print(f"{pack.name}: {len(pack.domains)} domains")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
