"""A model file at work in this process, through the package `xllamacpp` (llama.cpp with its server built in).

All that the library does for a file, it does in one thread, one call after the other and each from an empty cache:
a reply then depends on its request alone, neither on what was asked before nor on what is asked beside it. The
context begins small and grows as requests need it, up to what the model was trained for, so that memory is taken for
what is used.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any

from amemgym.errors import ContextOverflow, RequestRefused, UsageError
from amemgym.llm.gguf import ModelFile

INSTALL = "pip install 'amemgym[local]'"
#: the first version whose server gives what is asked of it here
OLDEST = (2026, 6)
#: tokens of the first context, and of what is read at once; a call can be given up after each such piece
FIRST_CONTEXT = 8_192
PIECE = 512
#: what a context that is too short is called
_FULL = "exceed_context_size_error"

Body = dict[str, Any]


@dataclass
class ChatReply:
    """A whole chat completion, put together from its pieces."""

    text: str = ""
    finish: str = "stop"
    input: int = 0
    output: int = 0
    #: of the last token: the likeliest tokens there, each with its log probability
    likeliest: Sequence[tuple[str, float]] = ()
    error: dict[str, Any] | None = None
    #: the functions wanted called, by number: id, name, arguments
    calls: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    #: at work on it, without the wait for other calls
    seconds: float = field(default=0.0, compare=False)
    _parts: list[str] = field(default_factory=list)

    def add(self, piece: dict[str, Any]) -> None:
        self.error = piece.get("error") or self.error
        if usage := piece.get("usage"):
            self.input, self.output = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
        for choice in piece.get("choices", ()):
            self._parts.append(choice.get("delta", {}).get("content") or "")
            for call in choice.get("delta", {}).get("tool_calls") or ():
                number, function = int(call.get("index", 0)), call.get("function") or {}
                id, name, arguments = self.calls.get(number, ("", "", ""))
                arguments += function.get("arguments") or ""
                self.calls[number] = (id or call.get("id") or "", name or function.get("name") or "", arguments)
            self.finish = choice.get("finish_reason") or self.finish
            for token in (choice.get("logprobs") or {}).get("content") or ():
                self.likeliest = [(each["token"], float(each["logprob"])) for each in token["top_logprobs"]]

    def whole(self) -> ChatReply:
        self.text = "".join(self._parts)
        return self


@lru_cache(maxsize=1)
def library() -> Any:
    """The package, imported. Raises UsageError where it is missing or too old."""
    try:
        import xllamacpp
    except ImportError as error:
        why = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        raise UsageError(f"a model on this machine needs the package xllamacpp{why}: {INSTALL}") from None
    numbers = tuple(int(number) for number in re.findall(r"\d+", xllamacpp.__version__)[:2])
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise UsageError(
            f"xllamacpp {xllamacpp.__version__} is too old for models on this machine, which need {oldest} or newer:"
            f" {INSTALL.replace('install', 'install -U')}"
        )
    return xllamacpp


class Engine:
    """One loaded file. It is loaded when it is first asked.

    Args:
        file: the model.
        longest: the context in tokens beyond which it does not grow.
    """

    def __init__(self, file: ModelFile, longest: int) -> None:
        self._library = library()
        self._file = file
        self._longest = longest
        self._context = 0
        self._server: Any = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="amemgym-local")

    async def chat(self, *bodies: Body) -> list[ChatReply]:
        """Chat completions, the first from an empty cache and the others from what the one before left there.

        Raises ContextOverflow, RequestRefused, and UsageError where the file cannot be loaded.
        """
        given_up = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._chat, bodies, given_up)
        finally:
            given_up.set()

    async def aclose(self) -> None:
        """Give the memory back; a call that was given up ends first."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._unload)
        self._thread.shutdown(wait=False)

    def _chat(self, bodies: Sequence[Body], given_up: threading.Event) -> list[ChatReply]:
        if self._server is None:
            self._load(min(FIRST_CONTEXT, self._longest))
        while True:
            try:
                return [self._one({**body, "cache_prompt": number > 0}, given_up) for number, body in enumerate(bodies)]
            except _ContextFull as full:
                if full.needed > self._longest or self._context >= self._longest:
                    raise ContextOverflow(
                        f"the request does not fit the context of {self._file.path.name}, {self._longest} tokens"
                    ) from None
                self._load(min(self._longest, max(2 * self._context, full.needed)))

    def _one(self, body: Body, given_up: threading.Event) -> ChatReply:
        reply, started = ChatReply(), perf_counter()

        def receive(piece: dict[str, Any]) -> bool:
            reply.add(piece)
            return given_up.is_set()  # which ends the call

        streamed = {"stream": True, "return_progress": True, "stream_options": {"include_usage": True}}
        try:
            self._server.handle_chat_completions(body | streamed, receive)
        except (ValueError, RuntimeError) as error:  # a template that cannot take the messages, a faulty schema
            raise self._refused(str(error)) from error
        if reply.error is not None:
            if reply.error.get("type") == _FULL:
                raise _ContextFull(int(reply.error.get("n_prompt_tokens", 0)) + 1)
            raise self._refused(str(reply.error.get("message")))
        asked = body.get("max_tokens") or 0
        if reply.finish == "length" and (asked <= 0 or reply.output < asked):
            raise _ContextFull
        reply.seconds = perf_counter() - started
        return reply.whole()

    def _refused(self, said: str) -> RequestRefused:
        return RequestRefused(f"{self._file.path.name} cannot be asked this: {' '.join(said.split())[:300]}")

    def _load(self, context: int) -> None:
        self._unload()
        parameters = self._library.CommonParams()
        parameters.model.path = str(self._file.path)
        parameters.n_ctx, parameters.n_parallel = context, 1
        parameters.n_batch = parameters.n_ubatch = PIECE
        parameters.cache_ram_mib = 0
        parameters.warmup = False
        parameters.verbosity = -1
        # what shares a model between a graphics card and this machine looks for no room where there is no card
        parameters.fit_params = len(self._library.get_device_info()) > 1
        # the library's server also listens, on this machine alone; whoever does not know this key is refused there
        parameters.api_keys = [secrets.token_hex(32)]
        if threads := _threads():
            parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
        try:
            self._server = self._library.Server(parameters)
        except (RuntimeError, ValueError, MemoryError) as error:
            raise UsageError(
                f"{self._file.path} cannot be loaded with a context of {context} tokens: the file is damaged, or of a"
                f" kind that xllamacpp {self._library.__version__} does not know, or too large for this machine's"
                " memory; try a smaller file, or fewer --context-tokens"
            ) from error
        self._context = context

    def _unload(self) -> None:
        self._server, self._context = None, 0


#: the engines at work and by how many each is used, so that no file is loaded twice
_engines: dict[tuple[str, int], tuple[Engine, int]] = {}
_looking = threading.Lock()


def engine_for(file: ModelFile, longest: int) -> Engine:
    """The engine of that file, which whoever asked for it gives back with `give_back`. Raises UsageError."""
    with _looking:
        engine, users = _engines.get((file.sha256, longest)) or (Engine(file, longest), 0)
        _engines[file.sha256, longest] = engine, users + 1
        return engine


async def give_back(engine: Engine) -> None:
    """An engine that nobody uses any more is closed."""
    with _looking:
        [place] = [place for place, (known, _) in _engines.items() if known is engine]
        users = _engines[place][1] - 1
        if users:
            _engines[place] = engine, users
        else:
            del _engines[place]
    if not users:
        await engine.aclose()


class _ContextFull(Exception):
    """The request or its reply did not fit; at least `needed` tokens would be, where that is known."""

    def __init__(self, needed: int = 0) -> None:
        super().__init__()
        self.needed = needed


def _threads() -> int | None:
    """How many threads to compute with: as OMP_NUM_THREADS says, else None for what the library finds best."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) > 0 else None
