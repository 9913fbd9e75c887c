"""Models by name: `offline`, `openai:<name>`, `local:<file>`, and plug-ins (`<plug-in>:<name>`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from amemgym import files, secrets
from amemgym.errors import UnknownName, UsageError
from amemgym.llm.address import checked_url, sendable
from amemgym.llm.embed import embedder, embedder_identity
from amemgym.llm.provider import Provider
from amemgym.plugins import load_plug_in, plug_in_version, plug_ins

#: raised whenever a reply of the offline model could change, so that an old run is not continued with a new model
OFFLINE_VERSION = 1

Say = Callable[[str], None]

LOCAL = "local"
DEFAULT_URL = "https://api.openai.com/v1"
KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
USER_KEY, USER_URL = "AMEMGYM_USER_API_KEY", "AMEMGYM_USER_BASE_URL"
AGENT_KEY = "AMEMGYM_AGENT_API_KEY"
#: the kinds of an assistant that is a black box behind an address, which is asked as models are
BOXES = ("http", "https")


@dataclass(frozen=True)
class ModelSettings:
    """How a model is reached and called.

    A key is sent to the address it is meant for alone: `key_variables` are looked at in turn where `api_key` is not
    given, and an address of its own has variables of its own, or none.
    """

    model: str = "offline"
    base_url: str | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = 2048
    timeout: float = 120.0
    embedder: str = "wordllama"
    #: of a model on this machine: how long its context may be, and whether it chooses by generation or by scores
    context_tokens: int = 128_000
    choice: str = "generate"
    api_key: SecretStr | None = field(default=None, repr=False)
    key_variables: tuple[str, ...] = (KEY,)

    def address(self) -> str | None:
        """The URL given, else for `openai:` the one in the environment."""
        return self.base_url or (os.environ.get(URL) if self.model.startswith("openai:") else None) or None

    def resolved_url(self) -> str | None:
        """The address of an endpoint. Raises UsageError where it is no URL or holds a password."""
        url = self.address()
        if url is None or not asks_endpoint(self.model):
            return None
        return checked_url(url, self.key_variables[0] if self.key_variables else "the configuration file")


def model_names() -> dict[str, str]:
    """What can stand before the colon, with one line on each."""
    names = {
        "offline": "embedded stand-in: no key, no network; compares memories, is no language model (default)",
        "local:<file.gguf>": "a model file on this machine, run in this process (pip install 'amemgym[local]')",
        "openai:<name>": f"any OpenAI-compatible endpoint ({URL}, {KEY}, --base-url)",
    }
    return names | {f"{name}:<name>": "plug-in" for name in plug_ins("models")}


def check_model_name(model: str) -> None:
    """Raises UnknownName or UsageError where no provider goes by that name."""
    kind, _, name = model.partition(":")
    if kind == "offline" and not name:
        return
    if kind in BOXES:
        raise UsageError(f"model '{model}' is the address of an assistant, not of a model; name it with --agents")
    if kind not in ("openai", LOCAL, *plug_ins("models")):
        raise UnknownName("model", model, model_names())
    if not name and kind == LOCAL:
        raise UsageError(f"model '{model}' names no file; write local:FILE.gguf")
    if not name:
        raise UsageError(f"model '{model}' names no model; write {kind}:<name>, such as openai:gpt-4.1-mini")


def check_choice(settings: ModelSettings) -> None:
    """Raises UsageError where a model that cannot be scored is to choose by scores."""
    if settings.choice == "rotate" and not settings.model.startswith(f"{LOCAL}:"):
        raise UsageError(
            f"model '{settings.model}' cannot choose by --choice rotate, which needs the probabilities of single"
            " tokens: a model on this machine (local:FILE.gguf) gives them; for any other leave it at generate"
        )


def asks_endpoint(model: str) -> bool:
    """Whether a model is asked at an address."""
    return model != "offline" and not model.startswith(f"{LOCAL}:")


def model_title(model: str) -> str:
    """The model's name in what is written and shown: a file without its folder."""
    kind, _, name = model.partition(":")
    return f"{LOCAL}:{Path(name).name}" if kind == LOCAL else model


def located(model: str) -> str:
    """The name by which a model is found from any folder."""
    kind, _, name = model.partition(":")
    return f"{LOCAL}:{files.at_home(name).absolute()}" if kind == LOCAL else model


def open_model(settings: ModelSettings, say: Say) -> Provider:
    """The provider for these settings. Raises UnknownName or UsageError."""
    kind, _, name = settings.model.partition(":")
    if kind in BOXES:
        from amemgym.llm.box import open_box

        return open_box(settings)
    check_model_name(settings.model)
    if kind == "offline":
        from amemgym.llm.offline import OfflineModel

        return OfflineModel(embedder(settings.embedder))
    if kind == LOCAL:
        from amemgym.llm.local import LocalModel

        return LocalModel(name, settings, say)
    if kind == "openai":
        return _open_endpoint(name, settings, say)
    provider: Provider = load_plug_in("models", kind)(name, settings, say)
    return provider


def describe_model(settings: ModelSettings) -> dict[str, Any]:
    """What the manifest says of a model: everything that can change its replies, and no key. Opens no model."""
    if settings.model == "offline":
        return {"model": "offline", "version": OFFLINE_VERSION, "embedder": embedder_identity(settings.embedder)}
    kind, _, name = settings.model.partition(":")
    if kind in BOXES:
        return {"model": settings.model, "base_url": settings.base_url}
    if kind == LOCAL:
        from amemgym.llm.local import describe

        return describe(name, settings)
    described: dict[str, Any] = {
        "model": settings.model,
        "base_url": settings.resolved_url(),
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
    }
    return described | ({} if kind == "openai" else {"plug_in": plug_in_version("models", kind)})


def same_address(one: str | None, other: str | None) -> bool:
    """Whether two URLs are one endpoint; None is the client's own default."""
    ours, theirs = ((url or DEFAULT_URL).rstrip("/").lower() for url in (one, other))
    return ours == theirs


def door_name(settings: ModelSettings) -> tuple[str, str]:
    """What two settings must share to be called through one door: all that is sent, and the key. Not to be written."""
    key, _ = find_key(settings) if asks_endpoint(settings.model) else (None, "")
    return files.canonical_json(describe_model(settings)), key.get_secret_value() if key else ""


def know_keys() -> None:
    """Know every key in the environment from now on, so that it is struck out of all that is written."""
    secrets.from_environment(KEY)
    secrets.from_environment(USER_KEY)
    secrets.from_environment(AGENT_KEY)


def _open_endpoint(name: str, settings: ModelSettings, say: Say) -> Provider:
    from amemgym.llm.openai import OpenAIModel

    url = settings.resolved_url()
    key, key_name = find_key(settings)
    if key is None and url is None:
        raise UsageError(
            f"model '{settings.model}' needs an endpoint: set {KEY}, or give --base-url for a server without a key;"
            " --model offline needs neither"
        )
    return OpenAIModel(
        name,
        base_url=url,
        api_key=key,
        key_name=key_name,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        timeout=settings.timeout,
        say=say,
    )


def find_key(settings: ModelSettings) -> tuple[SecretStr | None, str]:
    """The key, and the name of where it comes from (or would). Raises UsageError for one that cannot be sent."""
    variables = settings.key_variables
    name = next((name for name in variables if os.environ.get(name, "").strip()), variables[0] if variables else "")
    if settings.api_key is not None:
        key, name = secrets.remember(settings.api_key.get_secret_value()), "the configuration file"
    elif (found := secrets.from_environment(name)) is not None:
        key = found
    else:
        return None, name or "the configuration file"
    return sendable(key, name), name
