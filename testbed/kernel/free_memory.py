"""How much memory processes of ours may still take."""

from __future__ import annotations

from pathlib import Path

from testbed.kernel.room import address_space

__all__ = ["available_bytes", "spare_bytes"]

_SPARE_PARTS = 4


def available_bytes() -> int:
    """What processes of ours may still take: of the machine, of its control groups, of this process's limit."""
    rooms = [_of_machine(), *_of_groups()]
    limit = address_space()
    if limit is not None:
        rooms.append(limit)
    return max(0, min(rooms))


def spare_bytes() -> int:
    """What may go on convenience: a quarter of what is available."""
    return available_bytes() // _SPARE_PARTS


def _of_machine() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) * 1024
    return 1 << 62


def _of_groups(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[int]:
    """What is left of the limits of our control group and those above it, where there are any (versions 1 and 2)."""
    found = []
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory") and "memory" not in controllers.split(","):
            continue
        names = (
            ("memory.max", "memory.current") if not controllers else ("memory.limit_in_bytes", "memory.usage_in_bytes")
        )
        folder = root / path.strip("/") if not controllers else root / "memory" / path.strip("/")
        top = root if not controllers else root / "memory"
        for place in (folder, *folder.parents):
            room = _room(place, *names)
            if room is not None:
                found.append(room)
            if place == top:
                break
    return found


def _room(folder: Path, limit: str, used: str) -> int | None:
    try:
        most, now = ((folder / name).read_text(encoding="ascii").strip() for name in (limit, used))
        return None if most == "max" else int(most) - int(now)
    except (OSError, ValueError):
        return None
