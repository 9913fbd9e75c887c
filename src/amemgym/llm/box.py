"""An assistant that is a black box: behind the door like a model, and asked over HTTP by docs/http-agents.md.

The server remembers by itself. This side knows how many turns of each episode it has: before a call it is told what
it lacks. So a run that goes on from its journal, and a server that has lost an episode, are brought up to date in the
same way. Each time an episode is begun it gets an id of its own, so that two runs, or what is left of a call that was
given up, never meet.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

from amemgym.errors import NoContent
from amemgym.llm.address import checked_url
from amemgym.llm.boxclient import BoxClient, EpisodeUnknown
from amemgym.llm.models import AGENT_KEY, ModelSettings, find_key
from amemgym.llm.openai_usage import as_count
from amemgym.llm.provider import Completion, Request, Usage, estimate_usage
from amemgym.messages import TIME_FORMAT, Message
from amemgym.tasks import Act, Ask, Listen, Turn

_NAME = re.compile(r"(?:https?:(?=https?:))?(https?):(?://)?(.*)", re.IGNORECASE | re.DOTALL)


@dataclass
class _Known:
    """What the server has of an episode: under which id (empty before it has begun), and how many turns."""

    id: str = ""
    turns: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Box:
    """One address. Shared by all episodes of a run, as a model is."""

    def __init__(self, client: BoxClient) -> None:
        self._client = client
        self._known: dict[str, _Known] = {}

    async def complete(self, request: Request) -> Completion:
        """Raises as every provider does; see `BoxClient`."""
        task = request.task
        if isinstance(task, Act):
            known = await self._brought_up_to(task.episode, task.turns)
            number = len(task.turns) + 1
            completion = await self._said(known, "act", {"turn": number}, task.message)
            known.turns = number
            return completion
        if isinstance(task, Listen):
            await self._brought_up_to(task.episode, (*task.turns, task.heard))
            return Completion("", estimate_usage(task.heard, ""))
        if isinstance(task, Ask):
            known = await self._brought_up_to(task.episode, task.turns)
        else:  # a question that tells all it needs: nothing of another may be known
            known = _Known(await self.begin("alone"))
        return await self._said(known, "answer", {}, request.messages[-1])

    async def begin(self, name: str) -> str:
        """Begin an episode; the id that the server knows it by."""
        id = f"{name}-{token_hex(4)}"
        await self._client.post("reset", {"episode": id})
        return id

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _brought_up_to(self, episode: str, turns: Sequence[Turn]) -> _Known:
        """The episode, after the server was told what it lacks of these turns."""
        known = self._known.setdefault(episode, _Known())
        async with known.lock:
            if not known.id:
                known.turns, known.id = 0, await self.begin(episode)
            for number, turn in enumerate(turns[known.turns :], start=known.turns + 1):
                messages = [{**message.as_chat(), "time": _time(message.time)} for message in turn]
                await self._post(known, "listen", {"turn": number, "messages": messages})
                known.turns = number
        return known

    async def _said(self, known: _Known, call: str, more: dict[str, Any], message: Message) -> Completion:
        body = {**more, "message": message.content, "time": _time(message.time)}
        answer = await self._post(known, call, body)
        reply, usage = answer.get("reply"), answer.get("usage")
        if not isinstance(reply, str):
            raise self._client.wrong(call, "has no text 'reply'", answer)
        if usage is None:
            cost = estimate_usage([message], reply)
        elif isinstance(usage, dict) and all(as_count(usage.get(name)) is not None for name in ("input", "output")):
            cost = Usage(usage["input"], usage["output"])
        else:
            raise self._client.wrong(call, 'has a \'usage\' that is not {"input": tokens, "output": tokens}', answer)
        if not reply:
            raise NoContent(f"the assistant at {self._client.url} answered /{call} with an empty reply", cost, "stop")
        return Completion(reply, cost)

    async def _post(self, known: _Known, call: str, body: dict[str, Any]) -> dict[str, Any]:
        id = known.id
        try:
            return await self._client.post(call, {"episode": id, **body})
        except EpisodeUnknown:
            if known.id == id:  # it may have been begun anew since
                known.id = ""
            raise


def box_settings(name: str, timeout: float = 120.0) -> ModelSettings | None:
    """How the box of that name is reached, or None where the name is no address.

    `http:URL`, a URL alone, and `http:HOST:PORT`, which is its name in results, are all understood. Raises UsageError
    for a URL that is none, or holds a password.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    scheme, rest = match[1].lower(), match[2].rstrip("/")
    parts = urlsplit(checked_url(f"{scheme}://{rest}", AGENT_KEY, "URL", "http://localhost:9000"))
    place = f"{parts.netloc.lower()}{parts.path}"
    return ModelSettings(
        model=f"{scheme}:{place}",
        base_url=f"{scheme}://{place}",
        temperature=None,
        max_tokens=None,
        timeout=timeout,
        key_variables=(AGENT_KEY,),
    )


def open_box(settings: ModelSettings) -> Box:
    """The provider for a box's settings. Raises UsageError for a key that cannot be sent."""
    key, key_name = find_key(settings)
    return Box(BoxClient(settings.base_url or "", key, key_name, settings.timeout))


async def reach(settings: ModelSettings) -> None:
    """See that the box answers. Raises a ModelError where it does not."""
    box = open_box(settings)
    try:
        await box.begin("check")
    finally:
        await box.aclose()


def _time(time: datetime | None) -> str | None:
    return time.strftime(TIME_FORMAT) if time else None
