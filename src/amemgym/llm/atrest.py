"""A journal's bytes: plain while it grows, and gzip (`zcat` reads it) once what it is of has ended.

The packed form is written whole beside the plain one, which is removed afterwards, and the other way round where a
journal that is at rest has to grow again. So a kill leaves one form or both. Both hold the same replies up to where one
of them ends, and the longer one counts: a plain file that lost its end with the power is not taken for the whole.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from amemgym import files
from amemgym.errors import StorageError


def packed(path: Path) -> Path:
    """Where the journal that is written to `path` is at rest."""
    return path.with_name(f"{path.name}.gz")


def is_kept(path: Path) -> bool:
    """Whether there is a journal, in either form."""
    return path.exists() or packed(path).exists()


def kept(path: Path) -> bytes:
    """The whole lines of a journal, in whichever form it is; none where there is no file.

    A packed file that is cut off counts up to there. One that is damaged counts for nothing, for it cannot be told
    which of its replies are right. Raises StorageError where the system cannot read a file.
    """
    return _latest(path)[0]


def journals_in(folder: Path) -> list[Path]:
    """The journals below a folder, each once and by its plain name, in order."""
    found = (path.with_suffix("") if path.suffix == ".gz" else path for path in folder.rglob("*.jsonl*"))
    return sorted({path for path in found if path.suffix == ".jsonl" and not path.name.startswith(".")})


def copy(journal: Path, to: Path) -> None:
    """Copy a journal, in the form it is in, whole or not at all, in place of what is there in either form. Raises
    StorageError."""
    lines, is_packed = _latest(journal)
    files.write_bytes_atomically(packed(to) if is_packed else to, _zipped(lines) if is_packed else lines)
    _remove(to if is_packed else packed(to))


def put_to_rest(path: Path) -> None:
    """Leave a journal in its packed form alone, whatever a kill left of this earlier. Raises StorageError."""
    if not path.exists():
        return
    lines, is_packed = _latest(path)
    if not is_packed:
        files.write_bytes_atomically(packed(path), _zipped(lines))
    _remove(path)


def let_grow(path: Path) -> None:
    """Leave a journal in its plain form alone, to be appended to. Raises StorageError."""
    if not packed(path).exists():
        return
    lines, is_packed = _latest(path)
    if is_packed:
        files.write_bytes_atomically(path, lines)
    _remove(packed(path))


def _latest(path: Path) -> tuple[bytes, bool]:
    """The lines that count, and whether they are those of the packed form."""
    plain, zipped = _read(path), _read(packed(path))
    lines, unpacked = _whole(plain or b""), _whole(_unpacked(zipped or b""))
    return (unpacked, True) if len(unpacked) > len(lines) or plain is None else (lines, False)


def _zipped(lines: bytes) -> bytes:
    """The same bytes for the same replies: no name, no time."""
    return gzip.compress(lines, compresslevel=6, mtime=0)


def _whole(data: bytes) -> bytes:
    """Without a last line that a kill cut off: it was never used."""
    return data[: data.rfind(b"\n") + 1]


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error


def _unpacked(data: bytes) -> bytes:
    reader = zlib.decompressobj(wbits=31)  # gzip's form
    try:
        return reader.decompress(data)
    except zlib.error:  # also where its checksum is not that of its text
        return b""


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise files.storage_error(error, path) from error
