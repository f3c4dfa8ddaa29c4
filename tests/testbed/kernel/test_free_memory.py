"""What is left of the machine, and of limits of control groups."""

from __future__ import annotations

from pathlib import Path

from testbed.kernel import free_memory
from testbed.kernel.free_memory import available_bytes, spare_bytes


def test_the_limit_of_a_control_group_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    own = tmp_path / "cgroup"
    own.write_text("0::/a/b\n")
    (inner / "memory.max").write_text("max\n")
    (inner / "memory.current").write_text("5\n")
    assert free_memory._of_groups(tmp_path, own) == []
    (tmp_path / "a" / "memory.max").write_text("1000\n")
    (tmp_path / "a" / "memory.current").write_text("300\n")
    assert free_memory._of_groups(tmp_path, own) == [700]
    own.write_text("4:cpu,cpuacct:/x\n3:memory:/c\n")
    (tmp_path / "memory" / "c").mkdir(parents=True)
    (tmp_path / "memory" / "c" / "memory.limit_in_bytes").write_text("90\n")
    (tmp_path / "memory" / "c" / "memory.usage_in_bytes").write_text("40\n")
    assert free_memory._of_groups(tmp_path, own) == [50]
    assert free_memory._of_groups(tmp_path, tmp_path / "nothing") == []


def test_this_machine_has_some() -> None:
    assert 0 < spare_bytes() < available_bytes() < 1 << 50
