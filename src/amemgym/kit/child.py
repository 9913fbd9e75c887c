"""The new process: `python -m amemgym.kit.child JOB.json TOLD.json`. See `process`."""

from __future__ import annotations

import asyncio
import base64
import json
import pickle
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from amemgym.errors import AMemGymError, raised
from amemgym.kit.bench import Bench
from amemgym.kit.process import Told, read_out, tell_and_read
from amemgym.memory import Memory, find_memory, import_memory


def main(job: dict[str, Any]) -> dict[str, Any]:
    """Do the job: what a memory `told` and one restored `read` (or what went wrong instead, as text), or why the class
    is `missing` here."""
    try:
        cls = import_memory(job["reference"]) if ":" in job["reference"] else find_memory(job["reference"])
    except AMemGymError as error:
        return {"missing": f"a new process cannot import it: {error}"}
    if job["main"]:
        sys.modules["__main__"] = sys.modules[cls.__module__]  # where its pickles expect its classes
    answer: dict[str, Any] = {"told": _outcome(_tell(cls, job))}
    return answer if job["snapshot"] is None else answer | {"read": _outcome(_restore(cls, job))}


def _outcome(work: Coroutine[Any, Any, Told]) -> dict[str, Any] | str:
    try:
        return asyncio.run(work).as_json()
    except AMemGymError as error:
        return str(error)
    except Exception as error:
        return raised(error)


async def _tell(cls: type[Memory], job: dict[str, Any]) -> Told:
    async with Bench(cls, job["name"], token=job["token"]) as bench:
        return await tell_and_read(bench.make("again"))


async def _restore(cls: type[Memory], job: dict[str, Any]) -> Told:
    async with Bench(cls, job["name"], token=job["token"]) as bench:
        subject = bench.make("restored")
        await subject.restore(pickle.loads(base64.b64decode(job["snapshot"])))  # noqa: S301 - made by the parent
        return await read_out(subject)


if __name__ == "__main__":
    given, made = map(Path, sys.argv[1:])
    made.write_text(json.dumps(main(json.loads(given.read_text(encoding="ascii")))), encoding="ascii")
