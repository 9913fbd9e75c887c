"""Model files: known by what they hold and not by where they are; what is wrong with one is said in a sentence."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from amemgym.errors import UsageError
from amemgym.evaluate.upperbound import bound_names
from amemgym.llm import (
    ModelSettings,
    Request,
    check_model_name,
    describe_model,
    engine,
    located,
    model_title,
    open_model,
)
from amemgym.llm.gguf import model_file
from amemgym.messages import Message
from amemgym.tasks import Context, Reply
from tests.support.gguf import MODEL, needs_model


def local(path: Path | str, **settings: object) -> ModelSettings:
    return ModelSettings(f"local:{path}", **settings)  # type: ignore[arg-type]


@needs_model
def test_the_same_file_elsewhere_is_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "home" / MODEL.name
    there.parent.mkdir()
    there.symlink_to(MODEL)
    described = describe_model(local(MODEL))
    assert describe_model(local(there)) == described
    monkeypatch.chdir(there.parent)
    monkeypatch.setenv("HOME", str(there.parent))
    for name in (MODEL.name, f"~/{MODEL.name}"):
        assert describe_model(local(name)) == described
        assert located(f"local:{name}") == f"local:{there}"
        assert model_title(f"local:{name}") == described["model"] == f"local:{MODEL.name}"
    assert str(MODEL.parent) not in str(described)
    [(bound, _)] = bound_names([], local(there)).values()
    assert bound == f"local:{MODEL.name}"
    assert described["choice"] == "generate" and len(described["sha256"]) == 64


@needs_model
def test_what_decides_replies_is_described() -> None:
    described = describe_model(local(MODEL))
    assert described["context_tokens"] == 8192  # what it was trained for
    for setting in ({"temperature": 1.0}, {"max_tokens": 5}, {"choice": "rotate"}, {"context_tokens": 4096}):
        assert describe_model(local(MODEL, **setting)) == described | setting


@needs_model
def test_another_content_is_another_model(tmp_path: Path) -> None:
    copy = tmp_path / MODEL.name
    with MODEL.open("rb") as file:
        copy.write_bytes(file.read(3_000_000))
    first = model_file(str(copy)).sha256
    with copy.open("ab") as file:
        file.write(b"more")
    assert len({first, model_file(str(copy)).sha256, model_file(str(MODEL)).sha256}) == 3


@needs_model
def test_a_file_that_lacks_its_end_cannot_be_loaded(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with MODEL.open("rb") as file:
        cut.write_bytes(file.read(3_000_000))

    async def ask() -> None:
        model = open_model(local(cut), lambda sentence: None)
        try:
            await model.complete(Request(Reply(Context()), (Message("user", "Hello?"),)))
        finally:
            await model.aclose()

    with pytest.raises(UsageError, match=r"cut\.gguf cannot be loaded .*damaged"):
        asyncio.run(ask())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no GGUF file"),
        (b"PK\x03\x04 a zip file", "no GGUF file"),
        (b"GGUF", "cut off or damaged"),
        (b"GGUF\x03\0\0\0" + b"\0" * 8 + b"\x05" + b"\0" * 7, "cut off or damaged"),
        (b"GGUF\x03\0\0\0" + b"\0" * 8 + b"\x01" + b"\0" * 7 + b"\xff" * 8 + b"key", "cut off or damaged"),
        (
            b"GGUF\x03\0\0\0" + b"\0" * 8 + b"\x01" + b"\0" * 7 + b"\x01" + b"\0" * 7 + b"k\x63\0\0\0",
            "cut off or damaged",
        ),
    ],
)
def test_what_is_no_model_file_is_named(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said) as caught:
        model_file(str(path))
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for name, said in (
        (tmp_path / "no.gguf", "no such file"),
        (tmp_path, "a folder"),
        ("~nobody-at-all/x", "home folder"),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            model_file(str(name))
        assert str(name) in str(caught.value)
    with pytest.raises(UsageError, match=r"names no file; write local:FILE\.gguf"):
        check_model_name("local:")


@pytest.mark.parametrize(
    ("package", "said"),
    [
        (None, r"needs the package xllamacpp: pip install 'amemgym\[local\]'"),
        (SimpleNamespace(__version__="0.2.14"), r"0\.2\.14 is too old .* need 2026\.6 or newer: pip install -U"),
        (SimpleNamespace(__version__="2026.5.9294"), "too old"),
    ],
)
def test_a_package_that_is_missing_or_too_old_is_named(
    package: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", package)
    engine.library.cache_clear()
    try:
        with pytest.raises(UsageError, match=said):
            engine.library()
    finally:
        engine.library.cache_clear()
