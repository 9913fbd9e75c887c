"""Memory systems from elsewhere, one file each. Delete a file and its line here, and nothing else knows of it.

Each file imports the package it is for only where it is used, so that all of them can be listed without any of them
being installed.
"""

from __future__ import annotations

#: name → `module:Class`
ADAPTERS: dict[str, str] = {
    "amem-package": "amemgym.memory.adapters.amem_package:AMemPackageMemory",
    "langmem": "amemgym.memory.adapters.langmem:LangMemMemory",
}
