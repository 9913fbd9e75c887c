"""The package as a whole: light to import, and its names are there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import amemgym

HEAVY = tuple(
    [
        "numpy",
        "openai",
        "wordllama",
        "scipy",
        "aiohttp",
        "rich",
        "typer",
        "yaml",
        "pydantic",
        "huggingface_hub",
        "tokenizers",
        "bm25s",
        "xllamacpp",
        "mem0",
        "letta_client",
        "zep_cloud",
        "gymnasium",
        "optuna",
        "pandas",
        "pyarrow",
        "duckdb",
        "ray",
    ]
)


def test_import_stays_light() -> None:
    """And so does pytest, which loads the plug-in whenever it starts."""
    code = f"import sys, amemgym, amemgym.kit.plugin; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_import_takes_less_than_three_tenths_of_a_second() -> None:
    """Of a processor, in a process that has loaded nothing before: what else the machine does is not counted."""
    code = "import time; began = time.process_time(); import amemgym; print(time.process_time() - began)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.3


@pytest.mark.parametrize("command", ["--version", "validate starter"])
def test_a_command_loads_what_it_uses(command: str) -> None:
    code = (
        "import sys, amemgym.cli.main as line\n"
        f"code = line._run({command.split()!r})\n"
        "rooms = ('amemgym.evaluate', 'amemgym.report', 'amemgym.quality', 'scipy')\n"
        "print(code, [name for name in rooms if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_an_offline_run_loads_no_endpoint_client() -> None:
    code = (
        "import sys, tempfile, amemgym\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    amemgym.run('starter', 'rag', users=1, periods=1, out=folder + '/r')\n"
        "print([name for name in ('aiohttp', 'openai', 'httpx', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    for name in amemgym.__all__:
        assert getattr(amemgym, name) is not None


def test_no_public_name_is_a_module_s() -> None:
    """Which would take the name's place once it is imported."""
    folder = Path(amemgym.__file__).parent
    modules = {path.stem for path in folder.iterdir()}
    assert "api" in modules and not modules & set(amemgym.__all__)
