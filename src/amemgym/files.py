"""Writing files so that each is either whole or absent, and names that are safe on every system."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from amemgym.errors import RunDirectoryError, StorageError, UsageError


def sha256(data: bytes) -> str:
    """The hex digest."""
    return hashlib.sha256(data).hexdigest()


def sha256_of(pieces: Iterable[bytes]) -> str:
    """The same of what comes piece by piece."""
    hasher = hashlib.sha256()
    for piece in pieces:
        hasher.update(piece)
    return hasher.hexdigest()


def canonical_json(value: Any) -> str:
    """One text for one value: sorted keys, no white space, strict JSON (NaN is refused)."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def pretty_json(value: Any) -> str:
    """JSON for people: indented, in the order given, strict, ending in a newline."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def compact_json(value: Any) -> str:
    """JSON for programs: one line, in the order given, strict, ending in a newline."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def slug(name: str, length: int = 40) -> str:
    """A file name for any text: its readable part, then a short hash of the whole, so that no two share one."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii").lower()
    readable = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:length].strip("-")
    digest = sha256(name.encode("utf-8", "surrogatepass"))[:8]
    return f"{readable}-{digest}" if readable else digest


def printable(text: str) -> str:
    """The text as a terminal may be given it: control characters, which could move its cursor or rename its window,
    become the replacement character; line ends and tabs stay."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(sign) == "Cc" and sign not in "\n\t" else sign
        for sign in text
    )


def at_home(path: str | Path) -> Path:
    """The path with `~` and `~name` as the home folders they stand for. Raises UsageError where there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UsageError(f"{path}: there is no such home folder; write the path out") from None


def storage_error(error: OSError, path: Path) -> StorageError:
    """The operating system's refusal as one sentence with a way out."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        why = "the disk is full; free some space and run the same command again, finished work is kept"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        why = "no permission to write there; choose another folder with --out"
    elif error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
        why = "a file stands where a folder is needed (or the other way round); choose another folder with --out"
    else:
        why = f"{error.strerror or error}; choose another folder with --out"
    return StorageError(f"cannot write {path}: {why}")


def write_atomically(path: Path, text: str) -> None:
    """Write a UTF-8 file, whole or not at all. Raises StorageError."""
    write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all. Raises StorageError."""
    with whole_file(path) as file:
        file.write(data)


def leftovers(directory: Path) -> Iterator[Path]:
    """The temporary files below a directory of processes that ended while they wrote (all there are, where the
    system is not POSIX and does not tell which processes live)."""
    for path in directory.rglob(".*.tmp"):
        writer = re.fullmatch(r"\..*\.([0-9]{1,9})\.tmp", path.name, re.DOTALL)
        if writer is None or not _is_another_at_work(int(writer[1])):
            yield path


def is_begun(folder: Path) -> bool:
    """Whether a folder has a manifest.json, by which whatever is kept in it begins; no for one that cannot be read."""
    try:
        return (folder / "manifest.json").exists()
    except OSError:
        return False


def check_begun(folder: Path, what: str, manifest: str = "manifest.json") -> None:
    """Raises RunDirectoryError where a folder has no manifest, but more in it than a killed start leaves: it is no
    `what`'s. StorageError where it cannot be read."""
    try:
        found = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    except OSError as error:
        raise storage_error(error, folder) from error
    if manifest in found:
        return
    if any(name != ".lock" and not name.startswith(f".{manifest}.") for name in found):
        raise RunDirectoryError(f"{folder} is not empty and holds no {what}; choose an empty or new folder with --out")


@contextlib.contextmanager
def held(folder: Path, flag: str = "--out") -> Iterator[None]:
    """Hold a folder, made where it is missing, and clear it of what ended processes left half written.

    Raises RunDirectoryError where another process holds it (`flag` names another), StorageError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock", timeout=0)
        lock.acquire()
    except Timeout:
        raise RunDirectoryError(
            f"{folder} is in use by another process; wait for it, or choose another {flag}"
        ) from None
    except OSError as error:
        raise storage_error(error, folder) from error
    try:
        for leftover in leftovers(folder):
            leftover.unlink(missing_ok=True)
        yield
    finally:
        lock.release()


def _is_another_at_work(pid: int) -> bool:
    if os.name != "posix" or pid in (0, os.getpid()):
        return False
    try:
        os.kill(pid, 0)  # asks, and sends nothing
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, a temporary one beside it that takes its place at the end: a reader sees the old file or the
    new one, never a part; after an exception, the old one.

    Raises StorageError.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise storage_error(error, path) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
