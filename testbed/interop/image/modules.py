"""Which modules must be loaded for some modules, and in which order (modules.dep(5))."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from workloads.errors import HostCapabilityError

__all__ = ["insertion_order", "parse_dependencies"]


def parse_dependencies(text: str) -> dict[str, tuple[str, ...]]:
    """modules.dep: path -> paths of all that it needs."""
    found = {}
    for line in text.splitlines():
        path, colon, needs = line.partition(":")
        if colon:
            found[path] = tuple(needs.split())
    return found


def insertion_order(
    dependencies: dict[str, tuple[str, ...]], wanted: Iterable[str], builtin: Iterable[str] = ()
) -> tuple[str, ...]:
    """Paths of the `wanted` modules and of all that they need, each behind what it needs. Names as modprobe knows them
    (`-` and `_` are one). `builtin`: paths of modules.builtin, which need no loading. Raises HostCapabilityError for a
    module that the kernel does not have."""
    paths = {_name(path): path for path in dependencies}
    inside = {_name(path) for path in builtin}
    order: dict[str, None] = {}

    def insert(path: str, above: tuple[str, ...] = ()) -> None:
        if path in order or path in above:
            return
        for needed in dependencies.get(path, ()):
            insert(needed, (*above, path))
        order[path] = None

    for module in wanted:
        name = _name(module)
        if name in paths:
            insert(paths[name])
        elif name not in inside:
            raise HostCapabilityError(
                f"the kernel module {module} in the guest's kernel",
                "use the generic kernel package (linux-image-amd64; the cloud variant has no rdma_rxe and no 9p)",
            )
    return tuple(order)


def _name(path: str) -> str:
    return PurePosixPath(path).name.partition(".")[0].replace("-", "_")
