"""Where data comes from: a name, a path, a folder, a plug-in, or the published sets on their hub.

A wrong name gets the nearest known one, a missing file its path. `v1.base` is fetched from the Hugging Face repository
AGI-Eval/AMemGym, here from a small server on this machine that stands in for the hub; without a network that is one
sentence.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from amemgym.errors import AMemGymError, DataError, UnknownName
from amemgym.scenario import data_names, find_data, load_dataset
from tests.scenario.build import as_bytes, small_user
from tests.support.fake_hub import FakeHub, in_new_process, nobody_there, served

TINY = as_bytes(small_user())

# --- names and paths ---


def test_the_starter_set_ships_with_the_package() -> None:
    name, path = find_data("starter")
    assert name == "starter"
    assert path.is_file()
    assert load_dataset("starter").path == path


def test_known_names() -> None:
    names = data_names()
    assert {"starter", "v1.base"} <= set(names)
    assert "AGI-Eval/AMemGym" in names["v1.base"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a data file, and a folder that holds one."""
    (tmp_path / "mine.json").write_bytes(TINY)
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "data.json").write_bytes(TINY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("data", "name", "path"),
    [
        ("mine.json", "mine", "mine.json"),
        ("./mine.json", "mine", "mine.json"),
        ("people/../mine.json", "mine", "mine.json"),
        (Path("mine.json"), "mine", "mine.json"),
        ("~/mine.json", "mine", "mine.json"),
        ("people", "people", "people/data.json"),
        ("people/", "people", "people/data.json"),
        (Path("people"), "people", "people/data.json"),
        ("people/data.json", "people", "people/data.json"),
    ],
)
def test_a_path_or_a_folder(folder: Path, data: str | Path, name: str, path: str) -> None:
    assert find_data(data) == (name, (folder / path).resolve())
    assert load_dataset(data).name == name


def test_a_file_needs_no_suffix(folder: Path) -> None:
    (folder / "mine.json").rename(folder / "mine")
    assert find_data("mine") == ("mine", (folder / "mine").resolve())


def test_a_name_comes_before_a_folder_of_that_name(folder: Path) -> None:
    (folder / "people").rename(folder / "starter")
    assert find_data("starter")[1] != folder / "starter" / "data.json"
    assert find_data("./starter") == ("starter", (folder / "starter" / "data.json").resolve())


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("starer", "starter"),
        ("Starter", "starter"),
        ("v1-base", "v1.base"),
        ("v1base", "v1.base"),
        ("v1.bas", "v1.base"),
        ("v1.bsae", "v1.base"),
        ("v1.Base", "v1.base"),
    ],
)
def test_an_unknown_name_gets_the_nearest(folder: Path, wrong: str, right: str) -> None:
    with pytest.raises(UnknownName) as caught:
        find_data(wrong)
    said = str(caught.value)
    assert said.startswith(f"unknown data set '{wrong}'. Did you mean '{right}'? Known: starter, v1.base")
    assert "path of a v1 JSON file" in said
    assert caught.value.exit_code == 2


def test_a_name_like_nothing_known_gets_the_list(folder: Path) -> None:
    with pytest.raises(UnknownName, match=r"unknown data set 'zzz'\. Known: starter, v1\.base"):
        find_data("zzz")


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ("gone.json", "gone.json"),
        ("gone/data.json", "gone/data.json"),
        ("./gone", "gone"),
        ("people/gone.json", "people/gone.json"),
        (Path("gone.json"), "gone.json"),
    ],
)
def test_a_missing_file_is_named(folder: Path, data: str | Path, named: str) -> None:
    with pytest.raises(DataError, match=f"^no data file at {named}$") as caught:
        find_data(data)
    assert caught.value.exit_code == 2


def test_a_folder_without_data_names_the_file_it_should_hold(folder: Path) -> None:
    (folder / "people" / "data.json").unlink()
    with pytest.raises(DataError, match=r"^no data file at people/data\.json$"):
        find_data("people")


@pytest.mark.parametrize("data", ["", "x" * 5000, "~nobody-of-that-name/data.json", "a\0b", "a\0b.json"])
def test_no_path_at_all_is_one_sentence(folder: Path, data: str) -> None:
    with pytest.raises(AMemGymError) as caught:
        find_data(data)
    assert "\n" not in str(caught.value)


# --- plug-ins ---


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with a good data plug-in and others that are broken in several ways."""
    site = tmp_path / "site"
    info = site / "a_plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[amemgym.datasets]\n"
        "good = a_good_plugin:path\n"
        "raises = a_good_plugin:refuse\n"
        "absent = a_plugin_that_is_not_there:path\n"
        "nameless = a_good_plugin:no_such_thing\n"
        "broken = a_broken_plugin:path\n",
        encoding="utf-8",
    )
    (site / "data.json").write_bytes(TINY)
    good = "def path():\n    return {!r}\n\ndef refuse():\n    raise OSError('the disk is not there')\n"
    (site / "a_good_plugin.py").write_text(good.format(str(site / "data.json")), encoding="utf-8")
    (site / "a_broken_plugin.py").write_text("raise RuntimeError('made to fail')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "a_good_plugin", raising=False)
    return site


def test_broken_plugins_warn_by_name_and_stop_nothing(plugins: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names = data_names()
    said = sorted(str(warning.message) for warning in caught)
    assert [text.split(" does not load: ")[0] for text in said] == [
        "plug-in 'absent' (amemgym.datasets)",
        "plug-in 'broken' (amemgym.datasets)",
        "plug-in 'nameless' (amemgym.datasets)",
    ]
    assert "made to fail" in said[1]
    assert list(names) == ["starter", "v1.base", "good", "raises"]


@pytest.mark.filterwarnings("error")
def test_a_plugin_gives_its_path_whatever_ails_the_others(plugins: Path) -> None:
    assert find_data("good") == ("good", plugins / "data.json")
    assert load_dataset("good").name == "good"
    assert find_data(plugins / "data.json") == ("site", plugins / "data.json")


def test_a_plugin_that_fails_when_asked_is_one_sentence(plugins: Path) -> None:
    with pytest.raises(DataError, match=r"'raises'.*the disk is not there"):
        find_data("raises")


# --- the hub ---


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with served(FakeHub("AGI-Eval/AMemGym", {"v1.base/data.json": TINY})) as server:
        yield server


@pytest.fixture
def nobody() -> Iterator[str]:
    with nobody_there() as address:
        yield address


#: says where the data is; a DataError ends it as it ends the command line, anything else with a traceback
FIND = """
import json, sys
from amemgym.errors import DataError
from amemgym.scenario import find_data
try:
    print(json.dumps([str(found) for found in find_data('v1.base')]))
except DataError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


def test_the_published_set_is_downloaded_once(hub: FakeHub, nobody: str, tmp_path: Path) -> None:
    first = in_new_process(FIND, tmp_path, hub.address)
    assert first.returncode == 0, first.stderr
    assert f"GET {hub.file_at('v1.base/data.json')}" in hub.asked
    name, path = json.loads(first.stdout)
    assert name == "v1.base"
    assert Path(path).read_bytes() == TINY
    assert Path(path).is_relative_to(tmp_path)
    again = in_new_process(FIND, tmp_path, nobody)
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr


def assert_one_sentence(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    said = done.stderr.splitlines()
    assert len(said) == 1, done.stderr
    assert said[0].startswith("data set 'v1.base' could not be fetched from AGI-Eval/AMemGym on Hugging Face")
    assert "go online, or download v1.base/data.json and give its path with --data" in said[0]


def test_offline_by_word_is_one_sentence(hub: FakeHub, tmp_path: Path) -> None:
    assert_one_sentence(in_new_process(FIND, tmp_path, hub.address, HF_HUB_OFFLINE="1"))
    assert not [request for request in hub.asked if "resolve" in request]


def test_nobody_at_the_hub_is_one_sentence(nobody: str, tmp_path: Path) -> None:
    assert_one_sentence(in_new_process(FIND, tmp_path, nobody))


def test_any_trouble_of_the_hubs_client_is_a_data_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it raises differs by version; here it is something of its own."""
    import huggingface_hub

    def trouble(*args: object, **settings: object) -> str:
        raise RuntimeError("a long story\nof many lines")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", trouble)
    with pytest.raises(DataError, match=r"data set 'v1\.base' could not be fetched .*RuntimeError") as caught:
        find_data("v1.base")
    assert "\n" not in str(caught.value)


def test_without_the_hubs_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DataError, match=r"'v1\.base'.*pip install 'amemgym\[hub\]'"):
        find_data("v1.base")
