"""The files that the original benchmark leaves behind, found and read with nothing taken for granted.

A folder that holds `overall_results.json`, `diagnosis_results.json` or `interactions/period_NN.json` is one user's
results with one agent. What is missing, broken or of another length than the scenario becomes a sentence that names
the file, the period and the question; everything else is read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import DataError
from amemgym.evaluate.results import Conversation
from amemgym.messages import TIME_FORMAT
from amemgym.scenario import Scenario, parse_time

EXAMS, PROBES, TALKS = "overall_results.json", "diagnosis_results.json", "interactions"
_TALK = re.compile(r"period_([0-9]{1,6})\.json")
_TIME = re.compile(r"\[Current Time: ([^\]\n]{1,40})\]")


class Remarks:
    """Sentences about what is missing or odd; the same about several questions of a period is one sentence."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, int | None, str], list[int]] = {}

    def add(self, file: str, why: str, period: int | None = None, question: int | None = None) -> None:
        questions = self._said.setdefault((file, period, why), [])
        if question is not None:
            questions.append(question)

    def sentences(self) -> list[str]:
        return [_sentence(*said, questions) for said, questions in self._said.items()]


def _sentence(file: str, period: int | None, why: str, questions: list[int]) -> str:
    place = file if period is None else f"{file}, period {period}"
    if questions:
        place += f", question{'s' if len(questions) > 1 else ''} {', '.join(map(str, questions))}"
    return f"{place}: {why}"


@dataclass(frozen=True)
class Folder:
    """One user's results with one agent. `shown` is how sentences name it: its path inside the folder given."""

    path: Path
    shown: str
    agent: str
    user_id: str

    def name(self, file: str) -> str:
        return f"{self.shown}/{file}" if self.shown else file


def find_folders(root: Path, remarks: Remarks) -> list[Folder]:
    """Every folder of results under `root`, itself included, in the order of their paths. Raises DataError where
    `root` is no folder."""
    root = Path(os.path.abspath(root))  # noqa: PTH100 - a link keeps its own name, which may be the agent's
    if not root.is_dir():
        raise DataError(f"{root} {'is no folder' if root.exists() else 'does not exist'}; give the folder of results")
    found: list[Path] = []

    def unreadable(error: OSError) -> None:
        remarks.add(_shown(Path(error.filename), root) or root.name, f"cannot be read ({error.strerror}); left out")

    for place, folders, names in os.walk(root, onerror=unreadable):
        path = Path(place)
        if EXAMS in names or PROBES in names or (TALKS in folders and _has_talk(path / TALKS)):
            found.append(path)
            folders[:] = [name for name in folders if name != TALKS]
        folders.sort()
        for link in (name for name in folders if (path / name).is_symlink()):
            remarks.add(_shown(path / link, root), "a link to a folder is not followed; copy that folder here")
    agents = _agent_names(root, sorted({path.parent for path in found}))
    results = [Folder(path, _shown(path, root), agents[path.parent], _decoded(path.name)) for path in found]
    return sorted(results, key=lambda folder: (folder.agent, folder.shown))


def _agent_names(root: Path, parents: list[Path]) -> dict[Path, str]:
    """The agent of each folder of users: the path to it, or its own name where it is `root` (or holds it). No two are
    called the same."""
    names: dict[Path, str] = {}
    for parent in parents:
        inside = parent != root and parent.is_relative_to(root)
        wanted = _text("/".join(parent.relative_to(root).parts) if inside else parent.name) or "imported"
        name, number = wanted, 1
        while name in names.values():
            number += 1
            name = f"{wanted} ({number})"
        names[parent] = name
    return names


def _shown(path: Path, root: Path) -> str:
    return "" if path == root else _text(path.relative_to(root).as_posix())


def _text(name: str) -> str:
    """A file's name as text on one line, fit for a terminal."""
    return files.printable(" ".join(_decoded(name).split()))


def _decoded(name: str) -> str:
    """A file's name as text; bytes that are no UTF-8 are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def _talks(folder: Path) -> dict[int, str]:
    """The files of conversation in a folder, by period; of two for one period, the first. Raises OSError."""
    names = sorted((path.name for path in folder.iterdir()), reverse=True)
    return {int(match[1]): match[0] for name in names if (match := _TALK.fullmatch(name))}


def _has_talk(folder: Path) -> bool:
    try:
        return bool(_talks(folder))
    except OSError:
        return False


class Reader:
    """Reads a user's files. `digests` has the hash of each that was read, usable or not."""

    def __init__(self, folder: Folder, remarks: Remarks) -> None:
        self.folder = folder
        self.remarks = remarks
        self.digests: dict[str, str] = {}

    def list_in(self, name: str, of: str, otherwise: str) -> list[Any] | None:
        """The JSON list in a file; None, and a sentence, where there is none."""
        try:
            raw = self._bytes(name)
            self.digests[name] = files.sha256(raw)
            return read_list(raw, of)
        except ValueError as error:
            self.remarks.add(self.folder.name(name), f"{error}; {otherwise}")
            return None

    def _bytes(self, name: str) -> bytes:
        path = self.folder.path / name
        try:
            if path.exists() and not path.is_file():
                raise ValueError("is no file")  # a pipe would be waited for
            return path.read_bytes()
        except FileNotFoundError:
            raise ValueError("missing") from None
        except OSError as error:
            raise ValueError(f"cannot be read ({error.strerror})") from None


def read_list(raw: bytes, of: str) -> list[Any]:
    """A JSON list from a file's bytes. Raises ValueError, which says what it holds instead."""
    value = read_json(raw)
    if not isinstance(value, list):
        raise ValueError(f"holds {kind(value)}, not a list of {of}")
    return value


def read_json(raw: bytes) -> Any:
    """Raises ValueError, as a phrase about the file."""
    if not raw.strip():
        raise ValueError("is empty")
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 text (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON ({error})") from None


def kind(value: Any) -> str:
    """What a JSON value is, with its article."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")


@dataclass(frozen=True)
class Entry:
    """What a file holds for one question after one period."""

    period: int
    question: int
    fields: Mapping[str, Any]


def entries(value: list[Any], file: str, scenario: Scenario, remarks: Remarks) -> Iterator[Entry]:
    """The entries of periods × questions that the scenario has a place for."""
    _compare_lengths(len(value), len(scenario.periods), "period", file, None, remarks)
    for period, row in enumerate(value[: len(scenario.periods)]):
        if not isinstance(row, list):
            remarks.add(file, f"is {kind(row)}, not a list of questions; left out", period)
            continue
        _compare_lengths(len(row), len(scenario.qas), "question", file, period, remarks)
        for question, fields in enumerate(row[: len(scenario.qas)]):
            if isinstance(fields, dict):
                yield Entry(period, question, fields)
            else:
                remarks.add(file, f"is {kind(fields)}, not an object; left out", period, question)


def _compare_lengths(there: int, wanted: int, noun: str, file: str, period: int | None, remarks: Remarks) -> None:
    if there > wanted:
        remarks.add(file, f"{there} {noun}s where the scenario has {wanted}; the later ones are left out", period)
    elif there < wanted:
        remarks.add(file, f"only {there} of {wanted} {noun}s", period)


def conversation(reader: Reader, scenario: Scenario) -> Conversation:
    """The recorded conversation up to the first period that is not there as a whole, so that none is taken for whole
    that is not (an off-policy run would feed it to others)."""
    folder, remarks = reader.folder, reader.remarks
    talk: Conversation = []
    try:
        names = _talks(folder.path / TALKS)
    except OSError as error:
        why = "missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        remarks.add(folder.name(TALKS), f"{why}; no conversation")
        return talk
    for period in range(len(scenario.periods)):
        if period not in names:
            why = f"no file for period {period} (of {len(scenario.periods)})"
            remarks.add(folder.name(TALKS), f"{why}; the conversation ends before it")
            break
        name = f"{TALKS}/{names[period]}"
        value = reader.list_in(name, "sessions", "the conversation ends before it")
        if value is None:
            break
        try:
            talk.append(_sessions(value, period, scenario))
        except ValueError as error:
            remarks.add(folder.name(name), f"{error}; the conversation ends before it")
            break
    if any(number >= len(scenario.periods) for number in names):
        remarks.add(folder.name(TALKS), f"periods beyond the scenario's {len(scenario.periods)} are left out")
    return talk


def _sessions(value: list[Any], period: int, scenario: Scenario) -> list[list[dict[str, Any]]]:
    """Raises ValueError where something is missing or no message."""
    stretch = scenario.periods[period]
    if len(value) < len(stretch.sessions):
        raise ValueError(f"only {len(value)} of {len(stretch.sessions)} sessions")
    found: list[list[dict[str, Any]]] = []
    for number, session in enumerate(value):
        place = f"session {number}"
        if not isinstance(session, list):
            raise ValueError(f"{place} is {kind(session)}, not a list of messages")
        said = []
        for index, message in enumerate(session):
            fields = message if isinstance(message, dict) else {}
            role, content = fields.get("role"), fields.get("content")
            if role not in ("user", "assistant", "system") or not isinstance(content, str):
                raise ValueError(f"{place}, message {index} has no role and content")
            said.append({"role": role, "content": content})
        own = stretch.sessions[number].time if number < len(stretch.sessions) else stretch.end
        time = _time_in(said) or own.strftime(TIME_FORMAT)
        found.append([{**message, "time": time} for message in said])
    return found


def _time_in(session: list[dict[str, Any]]) -> str | None:
    """The simulated time that a session's first user message names on its first line."""
    first = next((message["content"] for message in session if message["role"] == "user"), "")
    match = _TIME.match(first)
    try:
        return parse_time(match[1].strip()).strftime(TIME_FORMAT) if match else None
    except ValueError:
        return None
