"""Memories by name: those of this package, plug-ins, and classes given by file or module."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from amemgym.errors import UnknownName, UsageError
from amemgym.memory.adapters import ADAPTERS
from amemgym.memory.extract import ExtractMemory
from amemgym.memory.incontext import RecordMemory
from amemgym.memory.lexical import LexicalDialogMemory, LexicalMessageMemory
from amemgym.memory.none import NoMemory
from amemgym.memory.notes import NoteMemory
from amemgym.memory.packages import check_packages, package_versions
from amemgym.memory.protocol import Memory
from amemgym.memory.vector import VectorDialogMemory, VectorMemory
from amemgym.plugins import load_plug_in, loaded_plug_ins, plug_in_version, plug_ins
from amemgym.version import __version__

BUILT_IN: dict[str, type[Memory]] = {
    "none": NoMemory,
    "vector": VectorMemory,
    "extract": ExtractMemory,
    "in-context": RecordMemory,
    "bm25-message": LexicalMessageMemory,
    "bm25-dialog": LexicalDialogMemory,
    "vector-dialog": VectorDialogMemory,
    "notes": NoteMemory,
}


@dataclass(frozen=True)
class KnownMemory:
    """A memory as it is listed: what brings it (with its version), what it is, and, if so, why it is missing."""

    origin: str
    about: str
    missing: str = ""


def known_memories() -> dict[str, KnownMemory]:
    """Every memory known by name. A plug-in that does not load warns and is left out."""
    own = f"amemgym {__version__}"
    found = {name: KnownMemory(own, _about(cls)) for name, cls in BUILT_IN.items()}
    for name in ADAPTERS:
        cls = find_memory(name)
        versions = [f"{package} {version}" for package, version in package_versions(cls.packages).items()]
        origin = ", ".join(versions) or ("not installed" if cls.packages else own)
        found[name] = KnownMemory(origin, _about(cls), _missing(cls))
    for name, cls in loaded_plug_ins("memories").items():
        found[name] = KnownMemory(plug_in_version("memories", name), _about(cls))
    return found


def has_memory(name: str) -> bool:
    """Whether a memory goes by that name; nothing is loaded."""
    return name in BUILT_IN or name in ADAPTERS or name in plug_ins("memories")


def outside_memories() -> dict[str, str]:
    """The names of memories from elsewhere, which are agents too: those adapted here, and plug-ins."""
    return {name: "adapter" for name in ADAPTERS} | {name: "plug-in memory" for name in plug_ins("memories")}


def find_memory(name: str) -> type[Memory]:
    """A memory class by registered name. Raises UnknownName or UsageError."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name in ADAPTERS:
        module, _, cls = ADAPTERS[name].partition(":")
        return checked_memory(getattr(importlib.import_module(module), cls), name)
    if name not in plug_ins("memories"):
        raise UnknownName("memory", name, [*BUILT_IN, *ADAPTERS, *plug_ins("memories")])
    return checked_memory(load_plug_in("memories", name), name)


def memory_version(name: str, cls: type[Memory]) -> str | dict[str, str] | None:
    """What tells one version of a memory from another, beside its source: the versions of the packages it stands on,
    and a plug-in's own (alone where it stands on none)."""
    packages = package_versions(cls.packages)
    if name not in plug_ins("memories") or name in BUILT_IN or name in ADAPTERS:
        return packages or None
    own = plug_in_version("memories", name)
    return {"plug-in": own, **packages} if packages else own


def _about(cls: type[Memory]) -> str:
    return (inspect.getdoc(cls) or "").split("\n")[0]


def _missing(cls: type[Memory]) -> str:
    try:
        check_packages(cls.packages, cls.extra)
        return ""
    except UsageError as error:
        return str(error)


def import_memory(reference: str) -> type[Memory]:
    """The class behind `file.py:Class` or `package.module:Class`. Raises UsageError."""
    source, _, name = reference.rpartition(":")
    try:
        module = _import_file(Path(source)) if source.endswith(".py") else _import_module(source)
    except Exception as error:
        raise UsageError(f"memory '{reference}' cannot be imported: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise UsageError(f"memory '{reference}': {source} has no class '{name}'")
    return checked_memory(getattr(module, name), reference)


def fingerprint(cls: type[Memory]) -> str:
    """What tells one version of a memory class from another: the sources of its module, of its bases' modules, and of
    the modules of the same folders that those use.

    A class made in an interactive session has no source; there it is the code and the attributes of the class.
    """
    hasher = hashlib.sha256()
    used: dict[str, ModuleType] = {}
    for base in cls.__mro__:
        if base.__module__ in ("builtins", "abc", "typing") or base.__module__.startswith("amemgym."):
            continue
        try:
            inspect.getsource(base)  # fails where the class is not in the module's file
            _add_modules(sys.modules[base.__module__], used)
        except (OSError, TypeError, KeyError):
            hasher.update(repr([(name, _content(m)) for name, m in sorted(vars(base).items())]).encode("utf-8"))
    for source in sorted(inspect.getsource(module) for module in used.values()):
        hasher.update(source.encode("utf-8"))
    return f"{cls.__qualname__}:{hasher.hexdigest()[:12]}"


def _add_modules(module: ModuleType, used: dict[str, ModuleType]) -> None:
    """The module, and those of its folder or below that it refers to, and so on."""
    file = getattr(module, "__file__", None)
    if file is None or module.__name__ in used:
        return
    used[module.__name__] = module
    folder = Path(file).resolve().parent
    for name in [*map(_origin, list(vars(module).values())), *_imports(module)]:
        other = sys.modules.get(name) if isinstance(name, str) else None
        place = getattr(other, "__file__", None)
        if other is not None and place and place.endswith(".py") and folder in Path(place).resolve().parents:
            _add_modules(other, used)


def _origin(value: object) -> object:
    """The name of the module that a value is, or comes from."""
    return value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)


def _imports(module: ModuleType) -> Iterator[str]:
    """The modules that a module imports when it is loaded: a number or a text does not say where it comes from."""
    try:
        waiting: list[ast.AST] = [ast.parse(inspect.getsource(module))]
    except (OSError, TypeError, SyntaxError):
        return
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = (module.__package__ or "").rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(part for part in (above, node.module) if part)
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _content(member: object) -> object:
    """What a member of a class does, as something whose `repr` is the same in every process."""
    if isinstance(member, staticmethod | classmethod):
        return _content(member.__func__)
    if isinstance(member, property):
        return [_content(part) for part in (member.fget, member.fset)]
    if isinstance(member, FunctionType):
        return [_content(member.__code__), repr(member.__defaults__), repr(member.__kwdefaults__)]
    if isinstance(member, CodeType):
        return [member.co_code.hex(), [_content(const) for const in member.co_consts], member.co_names]
    if isinstance(member, frozenset):
        return sorted(map(repr, member))
    return (
        member if isinstance(member, str | int | float | bool | tuple | list | dict | None) else type(member).__name__
    )


def checked_memory(cls: object, name: str) -> type[Memory]:
    """The class, if it is a whole memory. Raises UsageError."""
    if not (isinstance(cls, type) and issubclass(cls, Memory)):
        raise UsageError(f"memory '{name}' is no subclass of amemgym.Memory")
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise UsageError(f"memory '{name}' does not implement {' and '.join(missing)}")
    return cls


def _import_file(path: Path) -> object:
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    # named by place and content, so that a file that was changed is read anew
    content = str(path.resolve()).encode("utf-8") + path.read_bytes()
    name = f"amemgym_memory_{hashlib.sha256(content).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    _make_importable(path.resolve().parent)  # for the modules beside it, as when it is run
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
    _make_importable(Path.cwd())
    return importlib.import_module(name)


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
