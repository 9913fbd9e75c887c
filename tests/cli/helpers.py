"""How these tests speak to amemgym: as real processes of the console script, or, where only the words and the exit code
are asked after, inside this process. No wait here is short: a busy machine must not fail a test."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.support.journals import journals_of, unpacked
from tests.support.mock_openai import MockOpenAI, Request, Response, ok

T = TypeVar("T")
R = TypeVar("R")

COMMAND = Path(sys.executable).parent / "amemgym"
#: seconds that no process should need
PATIENCE = 300.0
KEY = "sk-proj-Zq7_kR2-vN9xT4"
MODEL = ("--model", "openai:mock-model")


@dataclass(frozen=True)
class Ended:
    """A process that ended."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """This process's environment without keys, endpoints and proxies, and with `more`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith(("OPENAI_", "AMEMGYM_")) and not name.lower().endswith("_proxy")
    }
    # threads gain nothing on texts this short
    settled = {"COLUMNS": "200", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    return kept | settled | more


def amemgym(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> Ended:
    """Run the console script to its end."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=env or environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


class ColdProcess:
    """The console script at work, as the head of a process group of its own."""

    def __init__(self, *arguments: str | Path, env: dict[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            env=env or environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit code, or None while it is at work."""
        return self._process.poll()

    def leave(self) -> None:
        """Stop reading what it prints."""
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.stdout = None

    def end(self) -> Ended:
        """Wait for the end."""
        out, err = self._process.communicate(timeout=PATIENCE)
        return Ended(self._process.returncode, out or "", err)


def inside(*arguments: str | Path) -> Ended:
    """The same command line inside this process; what no command should raise fails the test by itself."""
    from amemgym.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as exit:
            assert isinstance(exit.code, int)
            return Ended(exit.code, out.getvalue(), err.getvalue())
    raise AssertionError("main returned instead of exiting")


def at_once(what: Callable[[T], R], things: Iterable[T]) -> list[R]:
    """Side by side, as many as there are processors; results in order, the first exception raised."""
    with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        return list(pool.map(what, things))


def succeeded(ended: Ended) -> Ended:
    """Exit 0, and nothing said but remarks."""
    assert (ended.code, said(ended)) == (0, []), ended.err
    assert "Traceback" not in ended.err
    return ended


def said(ended: Ended) -> list[str]:
    """The lines on standard error that are no remarks."""
    return [line for line in ended.err.splitlines() if not line.startswith("note: ")]


def sentence(ended: Ended, code: int) -> str:
    """The one sentence a command ended with, and with that exit code."""
    assert "Traceback" not in ended.err + ended.out, ended.err
    assert ended.code == code, ended
    lines = said(ended)
    assert len(lines) == 1, lines
    assert re.match(r"amemgym: \S", lines[0]) and not re.search(r"\.\.(\s|$)|\(\)", lines[0]), lines
    return lines[0].removeprefix("amemgym: ")


# --- what is on disk ---


def strict_json(path: Path) -> Any:
    """The file's JSON; NaN, Infinity and a name that appears twice are refused."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{path}: {constant} is no JSON")

    def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs), f"{path}: a name appears twice in {pairs}"
        return dict(pairs)

    return json.loads(path.read_bytes().decode("utf-8"), parse_constant=refuse, object_pairs_hook=once)


def scores(directory: Path) -> bytes:
    return (directory / "scores.json").read_bytes()


def contents(directory: Path) -> dict[str, bytes]:
    """Every file under a directory, but for the lock and what Python compiles; what is compressed as its text."""
    files = (path for path in sorted(directory.rglob("*")) if path.is_file() and path.name != ".lock")
    kept = (path for path in files if path.parent.name != "__pycache__")
    return {str(path.relative_to(directory)): unpacked(path) for path in kept}


def untouched(directory: Path) -> dict[str, tuple[int, int]]:
    """What changes where a file is written anew, even with the same bytes."""
    found = {str(path): path.stat() for path in sorted(directory.rglob("*")) if path.is_file() and path.name != ".lock"}
    return {name: (stat.st_mtime_ns, stat.st_ino) for name, stat in found.items()}


def finished(directory: Path) -> dict[str, bytes]:
    """The finished episodes and upper bounds."""
    return {
        name: data for name, data in contents(directory).items() if re.match(r"(episodes|upper-bound)/.*json$", name)
    }


# --- an endpoint whose every reply says which request it is for ---


def mark(request: Request) -> str:
    """What tells one request from another: a hash of all it says."""
    return hashlib.sha256(json.dumps(request.body, sort_keys=True).encode()).hexdigest()[:16]


def answer(request: Request) -> Response | None:
    """A readable reply to any task, a function of the request alone, with the request's mark in it."""
    if not request.is_chat:
        return None
    last, this = str(request.messages[-1]["content"]), mark(request)
    if '{"facts"' in last:
        return ok(json.dumps({"facts": [f"The user is called {this}."]}))
    if '{"operations"' in last:
        return ok(json.dumps({"operations": [{"event": "add", "text": f"The user is called {this}."}]}))
    if '{"answer"' in last:
        options = len(re.findall(r"(?m)^\d+: ", last))
        return ok(json.dumps({"answer": 1 + int(this, 16) % options, "id": this}))
    if probed := dict(re.findall(r'(?m)^- (\w+): "(\w+)"', last)) if "<value>" in last else None:
        return ok(json.dumps({**probed, "id": this}))
    return ok(f"Indeed ({this}).")


def asked(requests: Iterable[Request]) -> Counter[str]:
    """How often each request arrived."""
    return Counter(mark(request) for request in requests if request.is_chat)


def journaled(directory: Path) -> Counter[str]:
    """How often each request has its reply in a run's journal. A line that a kill cut off does not count."""
    found: Counter[str] = Counter()
    for kept in journals_of(directory).values():
        for line in kept.split(b"\n")[:-1]:
            try:
                text = json.loads(line)["text"]
            except (ValueError, KeyError, TypeError):
                continue  # a damaged line
            marks = re.findall(r"\b[0-9a-f]{16}\b", text)
            assert len(set(marks)) == 1, line
            found[marks[0]] += 1
    return found


def against(server: MockOpenAI, data: Path, *more: str | Path) -> list[str | Path]:
    """A run against the endpoint."""
    return ["run", "--data", data, *MODEL, "--base-url", server.base_url, *more]


def stopping(server: MockOpenAI, data: Path, *more: str | Path) -> list[str | Path]:
    """Each call is made once, so that the run stops soon; the time-out is long where nothing hangs."""
    return against(server, data, "--agents", "native,oracle", "--attempts", "1", "--timeout", "60", *more)


# --- refusals of the operating system ---


def without_override() -> None:
    """Give up root's right to pass over file modes, for good: to be called in a process of its own."""
    if os.geteuid() == 0:
        VERSION_3, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 0x20080522, 1, 2
        libc = ctypes.CDLL(None, use_errno=True)
        # effective, permitted, inheritable rights: of numbers below 32, then of the others
        header, rights = (ctypes.c_uint32 * 2)(VERSION_3, 0), (ctypes.c_uint32 * 6)()
        assert libc.capget(header, rights) == 0
        for place in range(3):
            rights[place] &= ~(1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH)
        assert libc.capset(header, rights) == 0


@contextlib.contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Meanwhile no file of this process may grow beyond `size` bytes."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def mount(folder: Path, options: str) -> str | None:
    """Mount a file system in memory, or mount it anew with other options; why not, where that cannot be."""
    if os.geteuid() != 0:
        return "only root can mount"
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True
        )
    except OSError as error:
        return str(error)
    return done.stderr.strip() or None
