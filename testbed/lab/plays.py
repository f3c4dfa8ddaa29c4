"""Plays: which steps, on which hosts. Each step is told with its duration; the first failure is raised when all have ended."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.lab import steps
from testbed.lab.lab import Lab
from testbed.lab.model import Card, Host
from workloads.errors import ScenarioError
from workloads.trusted import require_trusted

__all__ = [
    "attach",
    "check",
    "collect",
    "configure",
    "deploy",
    "detach",
    "held",
    "lease",
    "power_cycle",
    "program",
    "read_bitstream",
    "release",
    "reset",
    "start",
    "status",
    "stop",
]


def check(lab: Lab, hosts: Sequence[Host], *, needs_version: bool = True) -> dict[str, Any]:
    """Facts by host; `needs_version` False: it is deployed next anyway. Raises LabError."""
    return lab.do("check", steps.check(lab, needs_version=needs_version), hosts)


def deploy(lab: Lab, hosts: Sequence[Host]) -> dict[str, Any]:
    return lab.do("deploy", steps.deploy(lab), hosts)


def status(lab: Lab, hosts: Sequence[Host]) -> dict[str, Any]:
    return lab.do("status", steps.status(lab), hosts)


def lease(lab: Lab, hosts: Sequence[Host], seconds: float, purpose: str = "") -> None:
    """All hosts, or none: where one is somebody else's, the others are given back."""
    outcomes = lab.attempt("lease", steps.lease(lab, seconds, purpose), hosts)
    failed = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failed:
        lab.attempt("release", steps.release(lab), [outcome.target for outcome in outcomes if outcome.error is None])
        raise failed[0]


def held(lab: Lab, hosts: Sequence[Host]) -> frozenset[str]:
    """Names of hosts that we have leased by `tb lab lease`: what is done there for a while must not end that."""
    found = status(lab, hosts)
    return frozenset(
        name
        for name, hello in found.items()
        if any(lease["owner"] == lab.owner.name and not lease["purpose"] for lease in hello["leases"])
    )


def release(lab: Lab, hosts: Sequence[Host], *, by_force: bool = False) -> None:
    lab.do("break" if by_force else "release", steps.break_leases(lab) if by_force else steps.release(lab), hosts)


def read_bitstream(card: Card, path: Path | None = None) -> bytes | None:
    """Of this file, or of the inventory's for the card; None: there is none. Raises ScenarioError."""
    path = path or card.bitstream
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"cannot be read: {error.strerror}", file=str(path), key="bitstream") from None


def program(lab: Lab, name: str | None, bitstream: bytes) -> dict[str, Any]:
    """The state of the card afterwards. Raises LabError."""
    card = lab.inventory.card(name)
    act = steps.program(lab, card, bitstream, hashlib.sha256(bitstream).hexdigest())
    found: dict[str, Any] = lab.do("program", act, [lab.inventory.hosts[card.host]])[card.host]
    return found


def configure(lab: Lab, name: str | None, config: str) -> None:
    """`config`: a SwitchConfig as JSON; the card runs it from now on, and is started."""
    card = lab.inventory.card(name)
    host = lab.inventory.hosts[card.host]
    lab.do("configure", steps.on_card(lab, card, "configure", config=config), [host])


def start(lab: Lab, name: str | None) -> None:
    card = lab.inventory.card(name)
    lab.do("start", steps.on_card(lab, card, "start"), [lab.inventory.hosts[card.host]])


def stop(lab: Lab, name: str | None) -> None:
    card = lab.inventory.card(name)
    lab.do("stop", steps.on_card(lab, card, "stop"), [lab.inventory.hosts[card.host]])


def reset(lab: Lab, name: str | None) -> None:
    card = lab.inventory.card(name)
    lab.do("reset", steps.reset(lab, card), [lab.inventory.hosts[card.host]])


def attach(lab: Lab, hosts: Sequence[Host], label: str, mtu: int) -> dict[str, Any]:
    """Keep the kernels of these hosts out of RoCE on an interface; says MAC and address of each."""
    return lab.do("attach", steps.attach(lab, label, mtu), hosts)


def detach(lab: Lab, hosts: Sequence[Host], label: str) -> None:
    lab.do("detach", steps.detach(lab, label), hosts)


def collect(lab: Lab, hosts: Sequence[Host], run: str, folder: Path) -> dict[str, Any]:
    """Paths by host. Raises ScenarioError for a folder that others could change."""
    require_trusted(folder, file="tb lab collect", key="--out")
    return lab.do("collect", steps.collect(lab, run, folder), hosts)


def power_cycle(lab: Lab, hosts: Sequence[Host]) -> None:
    lab.do("power-cycle", steps.power_cycle(lab), hosts)
