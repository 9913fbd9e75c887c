"""The report of an evolution as a file, from its summary, or from the evolution.json of its directory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from amemgym import files
from amemgym.errors import RunDirectoryError, UsageError
from amemgym.evolution import EvolutionDirectory
from amemgym.report.evolution.page import evolution_page
from amemgym.report.evolution.told import told
from amemgym.report.write import REPORTS, place_of
from amemgym.secrets import redact

SUMMARY = "evolution.json"


def write_evolution(directory: Path, summary: Mapping[str, Any], out: str | Path | None = None) -> Path:
    """Write the page into an evolution's directory, or to `out`; returns the file. Raises StorageError."""
    place = EvolutionDirectory(directory)
    path = place_of(out, place.path, REPORTS["html"])
    # it links what lies beside it, and that is elsewhere for a page of another folder
    runs = {} if out is not None else {part.name: (part / REPORTS["html"]).exists() for part in _parts(place)}
    files.write_atomically(path, redact(evolution_page(summary, runs)))
    return path


def write_evolution_report(
    directory: Path, format: str, out: str | Path | None, users: Sequence[str] | None
) -> list[Path]:
    """Write the page again from evolution.json. Raises AMemGymError, also where it would have to be another report."""
    place = EvolutionDirectory(directory)
    if format != "html" or users:
        what = f"as {format}" if format != "html" else "of single users"
        raise UsageError(
            f"{directory} holds an evolution, whose report is one HTML page; for one {what}, name a run in it:"
            f" {place.held_out} or {place.training}"
        )
    return [write_evolution(place.path, read_summary(place), out)]


def read_summary(place: EvolutionDirectory) -> dict[str, Any]:
    """The directory's evolution.json. Raises RunDirectoryError where it is not there, or is none."""
    path, again = place.path / SUMMARY, f"write it again with: amemgym resume {place.path}"
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(summary, dict):
            raise ValueError("it is no object")
        told(summary)
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{place.path} holds no finished evolution; continue it with: amemgym resume {place.path}"
        ) from None
    except OSError as error:
        raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise RunDirectoryError(
            f"{path} is damaged, or of another version ('{where}': {first['msg']}); {again}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise RunDirectoryError(f"{path} is damaged ({error}); {again}") from None
    return summary


def _parts(place: EvolutionDirectory) -> tuple[Path, Path]:
    return place.held_out, place.training
