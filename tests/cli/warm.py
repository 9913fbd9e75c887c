"""Processes of the command line that are forked from one that has everything loaded, so that a test which needs many
pays for what they do and not for their start. Each is a process of its own, at the head of a group of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.cli.helpers import PATIENCE, Ended, environment

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.cli.loaded"])
#: multiprocessing looks after all its processes whenever one begins, which must not fall into another thread's look
_LOCK = threading.RLock()


class WarmProcess:
    """A command line at work; `before` is called in its process first, and it may print to another file."""

    def __init__(
        self,
        *arguments: str | Path,
        env: dict[str, str] | None = None,
        before: Callable[[], None] | None = None,
        out: str | None = None,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        words = [str(argument) for argument in arguments]
        self._process = _CONTEXT.Process(
            target=_main, args=(words, env or environment(), str(Path.cwd()), self._folder.name, before, out)
        )
        with _LOCK:
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        begun = Path(self._folder.name) / "begun"
        while not begun.exists() and self.poll() is None:
            time.sleep(0.001)

    def poll(self) -> int | None:
        """The exit code, or None while it is at work."""
        with _LOCK:
            return self._process.exitcode

    def end(self) -> Ended:
        """Wait for the end."""
        deadline = time.monotonic() + PATIENCE
        while (code := self.poll()) is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        out, err = ((Path(self._folder.name) / name).read_text(encoding="utf-8") for name in ("out", "err"))
        self._folder.cleanup()
        return Ended(code, out, err)


def warm(
    *arguments: str | Path,
    env: dict[str, str] | None = None,
    before: Callable[[], None] | None = None,
    out: str | None = None,
) -> Ended:
    """Run a command line to its end."""
    return WarmProcess(*arguments, env=env, before=before, out=out).end()


def die_at_write(number: int) -> None:
    """From now on this process dies at the write of a whole file after so many, before the file is in its place."""
    left, fsync = number, os.fsync

    def dying(file: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(file)

    os.fsync = dying


def _main(
    words: list[str], env: dict[str, str], here: str, folder: str, before: Callable[[], None] | None, out: str | None
) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(here)
    Path(folder, "out").touch()
    for number, name in ((0, os.devnull), (1, out or f"{folder}/out"), (2, f"{folder}/err")):
        file = os.open(name, os.O_RDWR | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    Path(folder, "begun").touch()
    if before is not None:
        before()
    from amemgym.cli.main import main

    main(words)
