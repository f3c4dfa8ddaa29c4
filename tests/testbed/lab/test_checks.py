"""Facts of a host -> what is wrong with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.lab.agent.facts import HostFacts, InterfaceFacts
from testbed.lab.checks import host_problems
from testbed.lab.model import Host, LabInterface

_HOST = Host("h1", "10.0.0.1", base="/srv/ina", interfaces=(LabInterface("data", "d0", 9000, rdma="mlx5_0"),))
_UP = InterfaceFacts(9000, "02:00:00:00:00:01", "10.0.0.1", up=True, carrier=True)
_GOOD = HostFacts(
    "h1", 1000, "Debian", "6.1", "3.11.2", 4, 1 << 30, writable=True, deployed="v1", interfaces={"d0": _UP},
    rdma={"mlx5_0": "4: ACTIVE"}, clock=0.0,
)  # fmt: skip
_BAD: list[tuple[dict[str, Any], float, str]] = [
    ({"python": "3.9.2"}, 0, "Python 3.9.2; needed: 3.11 or later"),
    ({"user": 0}, 0, "we are root there; agents run as an ordinary user (hosts.NAME.user)"),
    ({"writable": False}, 0, "/srv/ina cannot be written by user 1000"),
    ({"disk_free": 3 << 20}, 0, "its disk is full: 3 MiB free at /srv/ina, needed: 64 MiB"),
    ({"interfaces": {"d0": None}}, 0, "interface data: there is no d0"),
    (
        {"interfaces": {"d0": replace(_UP, mtu=1500)}}, 0,
        "interface data: d0 has MTU 1500, needed: 9000",
    ),
    ({"interfaces": {"d0": replace(_UP, up=False, carrier=False)}}, 0, "interface data: d0 is down"),
    ({"interfaces": {"d0": replace(_UP, carrier=False)}}, 0, "interface data: d0 is without carrier"),
    ({"rdma": {"rxe0": "4"}}, 0, "interface data: there is no RDMA device mlx5_0; there are: rxe0"),
    ({"deployed": "v0"}, 0, "it has version v0 of this package, here is v1; first: tb lab deploy"),
    ({}, 5.0, "its clock is 5.0 s ahead of ours; allowed: 1 s"),
    ({}, -2.5, "its clock is 2.5 s behind ours; allowed: 1 s"),
]  # fmt: skip


def _problems(change: dict[str, Any], offset: float = 0.0) -> list[str]:
    return host_problems(_HOST, replace(_GOOD, **change), offset_s=offset, version="v1")


def test_a_good_host() -> None:
    assert _problems({}) == []
    assert _problems({"deployed": None}) == []
    assert _problems({}, 0.9) == []


@pytest.mark.parametrize(("change", "offset", "problem"), _BAD)
def test_golden_problems(change: dict[str, Any], offset: float, problem: str) -> None:
    assert _problems(change, offset) == [problem]


def test_all_are_told() -> None:
    assert len(_problems({"user": 0, "writable": False}, 9.0)) == 3
