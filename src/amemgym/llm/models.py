"""Models by name: `offline`, `openai:<name>`, and plug-ins (`<plug-in>:<name>`)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from amemgym import secrets
from amemgym.errors import UnknownName, UsageError
from amemgym.llm.embed import embedder, embedder_identity
from amemgym.llm.provider import Provider

#: raised whenever a reply of the offline model could change, so that an old run is not continued with a new model
OFFLINE_VERSION = 1

Say = Callable[[str], None]
#: makes a provider of a plug-in from the part of the name after the colon, the settings, and where to say things
Maker = Callable[[str, "ModelSettings", Say], Provider]


@dataclass(frozen=True)
class ModelSettings:
    """How a model is reached and called. The key is never part of what is compared, printed or written."""

    model: str = "offline"
    base_url: str | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = 2048
    timeout: float = 120.0
    embedder: str = "wordllama"
    api_key: SecretStr | None = field(default=None, repr=False, compare=False)
    #: environment variables that hold the key, and the URL where none is given; the first that is set counts
    key_variables: tuple[str, ...] = ("OPENAI_API_KEY",)
    url_variables: tuple[str, ...] = ("OPENAI_BASE_URL",)

    def resolved_url(self) -> str | None:
        """The URL given, else the one in the environment. Raises UsageError where it is no URL or holds a password."""
        url = self.base_url or next((os.environ[v] for v in self.url_variables if os.environ.get(v)), None)
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"base URL '{url}' is no address; it should look like http://localhost:8000/v1")
        if parts.username or parts.password or parts.query:
            raise UsageError(
                f"the base URL of {parts.hostname} holds a user name, a password or a query; it would be written to"
                f" the run's files. Give the address alone, and the key in {self.key_variables[0]}"
            )
        return url


def model_names() -> dict[str, str]:
    """What can stand before the colon, with one line on each."""
    names = {
        "offline": "embedded stand-in: no key, no network; compares memories, is no language model (default)",
        "openai:<name>": "any OpenAI-compatible endpoint (OPENAI_BASE_URL, OPENAI_API_KEY, --base-url)",
    }
    return names | {f"{point.name}:<name>": "plug-in" for point in entry_points(group="amemgym.models")}


def check_model_name(model: str) -> None:
    """Raises UnknownName or UsageError where no provider goes by that name."""
    kind, _, name = model.partition(":")
    if kind == "offline" and not name:
        return
    known = ["openai", *(point.name for point in entry_points(group="amemgym.models"))]
    if kind not in known:
        raise UnknownName("model", model, model_names())
    if not name:
        raise UsageError(f"model '{model}' names no model; write {kind}:<name>, such as openai:gpt-4.1-mini")


def open_model(settings: ModelSettings, say: Say) -> Provider:
    """The provider for these settings. Raises UnknownName or UsageError."""
    check_model_name(settings.model)
    kind, _, name = settings.model.partition(":")
    if kind == "offline":
        from amemgym.llm.offline import OfflineModel

        return OfflineModel(embedder(settings.embedder))
    if kind == "openai":
        return _open_endpoint(name, settings, say)
    return _plugin(kind)(name, settings, say)


def _open_endpoint(name: str, settings: ModelSettings, say: Say) -> Provider:
    from amemgym.llm.openai import OpenAIModel

    url = settings.resolved_url()
    key = settings.api_key or secrets.from_environment(*settings.key_variables)
    if key is None and url is None:
        raise UsageError(
            f"model '{settings.model}' needs an endpoint: set {settings.key_variables[0]}, or give --base-url for a"
            " server without a key; --model offline needs neither"
        )
    return OpenAIModel(
        name,
        base_url=url,
        api_key=key,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        timeout=settings.timeout,
        say=say,
    )


def _plugin(kind: str) -> Maker:
    for point in entry_points(group="amemgym.models"):
        if point.name == kind:
            try:
                maker: Maker = point.load()
                return maker
            except Exception as error:
                warnings.warn(f"model plug-in '{kind}' does not load: {error}", stacklevel=2)
                raise UsageError(f"model plug-in '{kind}' does not load: {error}") from error
    raise UnknownName("model", kind, model_names())


def describe_model(settings: ModelSettings) -> dict[str, Any]:
    """What the manifest says of a model: everything that can change its replies, and no key. Opens nothing."""
    if settings.model == "offline":
        return {"model": "offline", "version": OFFLINE_VERSION, "embedder": embedder_identity(settings.embedder)}
    return {
        "model": settings.model,
        "base_url": settings.resolved_url(),
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
    }
