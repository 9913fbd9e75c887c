"""Memory systems from elsewhere, one file each. Delete a file and its line here, and nothing else knows of it.

Each file imports the package it is for only where it is used, so that all of them can be listed without any of them
being installed.
"""

from __future__ import annotations

#: name → `module:Class`
ADAPTERS: dict[str, str] = {
    "mem0": "amemgym.memory.adapters.mem0:Mem0Memory",
    "mem0-v1": "amemgym.memory.adapters.mem0_v1:Mem0V1Memory",
    "langmem": "amemgym.memory.adapters.langmem:LangMemMemory",
    "amem-package": "amemgym.memory.adapters.amem_package:AMemPackageMemory",
    "letta": "amemgym.memory.adapters.letta:LettaMemory",
    "zep": "amemgym.memory.adapters.zep:ZepMemory",
    "graphiti": "amemgym.memory.adapters.graphiti:GraphitiMemory",
}
