"""The body of a chat completion's request, as bytes.

Of a long conversation it is nearly all of a call's cost, so it is put together from the JSON of each message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

from amemgym.clean import clean
from amemgym.llm.provider import Request
from amemgym.messages import Message, whole
from amemgym.tasks import Chat


def body_of(name: str, request: Request, parameters: Mapping[str, Any]) -> bytes:
    """What is sent for a request: the model's `name`, the parameters, and what says what is asked; of a memory
    system's own request, all of that."""
    if isinstance(request.task, Chat):
        # which is among the parameters, unless the model refuses it
        optional = ("response_format",) if wants_any_json(request.task) else ()
        asked = {key: clean(value) for key, value in request.task.body.items() if key not in optional}
        return _bytes({"model": name, **parameters, **asked})
    head = _bytes({"model": name, **parameters})
    return b'%b,"messages":[%b]}' % (head[:-1], b",".join(map(message_json, request.messages)))


def message_json(message: Message) -> bytes:
    """`message.as_chat()` as JSON."""
    return f'{{"role":"{message.role}","content":{encode_basestring(whole(message.content))}}}'.encode()


def wants_any_json(chat: Chat) -> bool:
    """Whether it wants a JSON object of any form, which its prompt says too; a schema may be said nowhere else."""
    form = chat.body.get("response_format")
    return isinstance(form, Mapping) and form.get("type") == "json_object"


def _bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
