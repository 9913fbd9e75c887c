"""A Ray cluster to play on: the one that RAY_ADDRESS names, or one of this machine alone that ends with the run.

Its parts speak over ports that anybody can reach who reaches the machine, so one that is started here is closed to
whoever has not its token, which this process keeps in memory. Nothing is told to anyone of how it is used.
"""

from __future__ import annotations

import os
import secrets as randomness
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from amemgym import secrets
from amemgym.errors import ClusterFailed, MissingPackage

ADDRESS = "RAY_ADDRESS"
MODE, TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"
USAGE = "RAY_USAGE_STATS_ENABLED"
#: bytes for what processes hand each other; results come without their texts, so this is plenty
STORE = 200 * 1024 * 1024


def check_ray() -> None:
    """Raises MissingPackage where Ray is not installed."""
    if find_spec("ray") is None:
        raise MissingPackage("--executor ray needs the package ray: pip install 'amemgym[ray]'")


def ray_module() -> Any:
    """Ray, imported so that it reads our settings; it reads them once in a process."""
    check_ray()
    os.environ.setdefault(USAGE, "0")
    if "ray" not in sys.modules and not {ADDRESS, MODE, TOKEN} & set(os.environ):
        os.environ[MODE], os.environ[TOKEN] = "token", randomness.token_hex(32)
    if token := os.environ.get(TOKEN):
        secrets.remember(token)
    import ray

    return ray


@contextmanager
def cluster() -> Iterator[Any]:
    """Ray, connected to a cluster. One that was not begun here is left as it is. Raises ClusterFailed."""
    ray = ray_module()
    if ray.is_initialized():
        yield ray
        return
    address = os.environ.get(ADDRESS)
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            ray.init(address="local", include_dashboard=False, object_store_memory=STORE, **quiet)
    except Exception as error:  # Ray has errors of many classes here
        ray.shutdown()
        where = f"the Ray cluster at {address} ({ADDRESS})" if address else "a Ray cluster on this machine"
        raise ClusterFailed(f"cannot reach {where}: {first_line(error)}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def processors(ray: Any) -> int:
    """The CPUs of the cluster, at least 1."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def first_line(error: BaseException) -> str:
    """What an error of Ray's says, which may be pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")
