"""Processes of the command line that are forked from one that has everything loaded, so that a test which needs many
pays for what they do and not for their start. Each is a process of its own, at the head of a group of its own."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import threading
import time
from pathlib import Path

from tests.cli.helpers import PATIENCE, Ended, environment

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["amemgym.cli.main", "amemgym.llm.offline", "openai", "scipy.special"])
#: multiprocessing looks after all its processes whenever one begins, which must not fall into another thread's look
_LOCK = threading.RLock()


class WarmProcess:
    """A command line at work."""

    def __init__(
        self,
        *arguments: str | Path,
        env: dict[str, str] | None = None,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        words = [str(argument) for argument in arguments]
        self._process = _CONTEXT.Process(
            target=_main, args=(words, env or environment(), str(Path.cwd()), self._folder.name)
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


def warm(*arguments: str | Path, env: dict[str, str] | None = None) -> Ended:
    """Run a command line to its end."""
    return WarmProcess(*arguments, env=env).end()


def _main(words: list[str], env: dict[str, str], here: str, folder: str) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(here)
    for number, name in ((0, os.devnull), (1, f"{folder}/out"), (2, f"{folder}/err")):
        file = os.open(name, os.O_RDWR | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    Path(folder, "begun").touch()
    from amemgym.cli.main import main

    main(words)
