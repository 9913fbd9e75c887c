"""What is packed into a page comes out again, whatever is in it, and nothing of it can be markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from amemgym.report.pack import TextPool, pack
from tests.report.inverse import unpack
from tests.scenario.build import JSON_VALUES


def text_of(pool: TextPool, place: int) -> str:
    """As the page's script reads it."""
    entry = pool.entries[place]
    return entry if isinstance(entry, str) else f"{entry[0]}{pool.entries[int(entry[1])]}"


@given(JSON_VALUES)
def test_packing_loses_nothing_but_half_characters(value: object) -> None:
    def whole(found: object) -> object:
        if isinstance(found, str):
            return found.encode("utf-8", "replace").decode()
        if isinstance(found, list):
            return [whole(entry) for entry in found]
        if isinstance(found, dict):
            return {whole(key): whole(entry) for key, entry in found.items()}
        return found

    packed = pack(value)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", packed)
    assert unpack(packed) == whole(value)
    assert pack(value) == packed


def test_a_key_is_struck_out_before_it_is_out_of_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amemgym.secrets._known", {"sk-very-secret"})
    assert unpack(pack(["the key is sk-very-secret."])) == ["the key is [key]."]


def test_a_text_is_kept_once_whatever_stands_before_it() -> None:
    pool = TextPool()
    said = "I moved to the coast. " * 3
    texts = [
        said,
        f"[Current Time: 2020-10-01 10:00:00]\n{said}",
        f"[2020-10-01] user: {said}",
        f"[2020-10-01] {said}",
        "[2020-10-01] ",
        "",
        said,
    ]
    places = [pool.place(text) for text in texts]
    assert [text_of(pool, place) for place in places] == texts
    assert places[0] == places[6]
    assert str(pool.entries).count("coast") == 3  # of one text


def test_a_text_of_nothing_but_leads_is_a_text() -> None:
    pool = TextPool()
    text = "[2020-10-01] " * 20_000
    assert text_of(pool, pool.place(text)) == text
