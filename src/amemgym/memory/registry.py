"""Memories by name: those of this package, plug-ins, and classes given by file or module."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import warnings
from importlib.metadata import entry_points
from pathlib import Path

from amemgym.errors import UnknownName, UsageError
from amemgym.memory.extract import ExtractMemory
from amemgym.memory.incontext import RecordMemory
from amemgym.memory.none import NoMemory
from amemgym.memory.protocol import Memory
from amemgym.memory.vector import VectorMemory

BUILT_IN: dict[str, type[Memory]] = {
    "none": NoMemory,
    "vector": VectorMemory,
    "extract": ExtractMemory,
    "in-context": RecordMemory,
}


def plug_ins() -> dict[str, type[Memory]]:
    """Memories that other packages bring (entry points `amemgym.memories`)."""
    found: dict[str, type[Memory]] = {}
    for point in entry_points(group="amemgym.memories"):
        try:
            found[point.name] = _checked(point.load(), point.name)
        except Exception as error:  # a broken plug-in must stop nothing else
            warnings.warn(f"memory plug-in '{point.name}' does not load: {error}", stacklevel=2)
    return found


def memory_names() -> dict[str, str]:
    """Every memory known by name, with its docstring's first line."""
    known = {**BUILT_IN, **plug_ins()}
    return {name: (inspect.getdoc(sys.modules[cls.__module__]) or "").split("\n")[0] for name, cls in known.items()}


def find_memory(name: str) -> type[Memory]:
    """A memory class by registered name. Raises UnknownName."""
    known = {**BUILT_IN, **plug_ins()}
    if name not in known:
        raise UnknownName("memory", name, known)
    return known[name]


def import_memory(reference: str) -> type[Memory]:
    """The class behind `file.py:Class` or `package.module:Class`. Raises UsageError."""
    source, _, name = reference.rpartition(":")
    try:
        module = _import_file(Path(source)) if source.endswith(".py") else _import_module(source)
    except Exception as error:
        raise UsageError(f"memory '{reference}' cannot be imported: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise UsageError(f"memory '{reference}': {source} has no class '{name}'")
    return _checked(getattr(module, name), reference)


def fingerprint(cls: type[Memory], whole_module: bool = False) -> str:
    """What tells one version of a memory class from another: its name, and its source (or its module's) by hash."""
    try:
        source = inspect.getsource(sys.modules[cls.__module__] if whole_module else cls)
    except (OSError, TypeError, KeyError):
        source = ""  # made in an interactive session
    return f"{cls.__qualname__}:{hashlib.sha256(source.encode('utf-8')).hexdigest()[:12]}"


def _checked(cls: object, name: str) -> type[Memory]:
    if not (isinstance(cls, type) and issubclass(cls, Memory)):
        raise UsageError(f"memory '{name}' is no subclass of amemgym.Memory")
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise UsageError(f"memory '{name}' does not implement {' and '.join(missing)}")
    return cls


def _import_file(path: Path) -> object:
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    # named by its content's place, so that two files called alike are two modules
    name = f"amemgym_memory_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _import_module(name: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return importlib.import_module(name)
