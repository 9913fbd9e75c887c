"""Where data comes from: a path, the starter set in this package, the published sets on their hub, or a plug-in."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from amemgym import files
from amemgym.errors import DataError, UnknownName
from amemgym.plugins import load_plug_in, loaded_plug_ins, plug_ins

HUB_REPOSITORY = "AGI-Eval/AMemGym"
#: what else a data set can be named by
HINT = "Or give the path of a v1 JSON file, or a set of the scenario bank (bank:mini, bank:base, …)."
#: names of published data sets → their file in the hub's repository
PUBLISHED = {"v1.base": "v1.base/data.json"}
STARTER = Path(__file__).parent / "starter" / "data.json"


def data_names() -> dict[str, str]:
    """Every data set known by name, with one line on what it is."""
    names = {"starter": "3 people written for this package; ships with it"}
    names |= {name: f"published data set, fetched from {HUB_REPOSITORY} on Hugging Face" for name in PUBLISHED}
    names |= {name: "plug-in" for name in loaded_plug_ins("datasets")}
    return names


def is_data_name(data: str) -> bool:
    """Whether a data set goes by that name (`bank:` begins those of the scenario bank); loads nothing."""
    return data.startswith("bank:") or data == "starter" or data in PUBLISHED or data in plug_ins("datasets")


def find_data(data: str | Path) -> tuple[str, Path]:
    """(name, path of the JSON file) for a name or a path. Raises DataError or UnknownName."""
    text = str(data)
    if not text.strip():
        raise UnknownName("data set", text, data_names(), HINT)
    if text == "starter":
        return "starter", STARTER
    if text in PUBLISHED:
        return text, fetch_published(text)
    if text in plug_ins("datasets"):
        try:
            return text, Path(load_plug_in("datasets", text)())
        except Exception as error:  # it is somebody else's code
            raise DataError(f"data plug-in '{text}' failed: {error}") from error
    try:
        path = Path(text).expanduser()
        if path.is_dir():
            path = path / "data.json"
        if path.exists():
            return _name_of(path), Path(os.path.abspath(path))  # noqa: PTH100 - a link keeps its own name
    except (OSError, RuntimeError) as error:  # no such home, a name too long, no permission
        raise DataError(f"cannot read {text}: {getattr(error, 'strerror', None) or error}") from error
    if path.suffix == ".json" or "/" in text or "\\" in text:
        raise DataError(f"no data file at {path}")
    raise UnknownName("data set", text, data_names(), HINT)


def fetch_published(name: str) -> Path:
    """The file of a published data set, from the hub's cache or the hub. Raises DataError when neither has it."""
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    except ImportError:
        raise DataError(
            f"data set '{name}' is fetched from Hugging Face, which needs an extra: pip install 'amemgym[hub]'"
        ) from None
    place = {"repo_id": HUB_REPOSITORY, "filename": PUBLISHED[name], "repo_type": "dataset"}
    try:
        with contextlib.suppress(FileNotFoundError):  # what was fetched once needs no network
            return Path(hf_hub_download(**place, local_files_only=True))
        # asks once: the download itself would try again for half a minute, aloud, where there is no network
        get_hf_file_metadata(hf_hub_url(**place), timeout=10)
        return Path(hf_hub_download(**place))
    except Exception as error:  # the hub's client raises many kinds; each means the same to the user
        raise DataError(
            f"data set '{name}' could not be fetched from {HUB_REPOSITORY} on Hugging Face"
            f" ({type(error).__name__}); go online, or download {PUBLISHED[name]} and give its path with --data"
        ) from error


def _name_of(path: Path) -> str:
    """`…/amemgym-v1.base/data.json` is called by its folder, any other file by itself."""
    name = Path(os.path.abspath(path)).parent.name if path.stem == "data" else path.stem  # noqa: PTH100
    return files.printable(name)
