"""The plays as fabric tasks: `fab -r playbooks/lab --collection tasks check --inventory lab.yaml --hosts workers`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from invoke import task

from testbed.history.lab_events import LabStep
from testbed.lab import plays
from testbed.lab.inventory import load_inventory
from testbed.lab.lab import Lab


def _tell(step: LabStep) -> None:
    print(f"{step.host:<10} {step.step:<10} {step.seconds:7.2f} s  {step.verdict:<9} {step.detail}", file=sys.stderr)


@contextmanager
def _lab(inventory: str) -> Iterator[Lab]:
    with Lab(load_inventory(Path(inventory)), _tell) as lab:
        yield lab


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


@task
def check(context, inventory, on=""):  # type: ignore[no-untyped-def]
    """OS, interfaces, MTU, clock, disk, versions."""
    with _lab(inventory) as lab:
        plays.check(lab, lab.inventory.select(_names(on)))


@task
def deploy(context, inventory, on=""):  # type: ignore[no-untyped-def]
    """This package, by its content, and its agent."""
    with _lab(inventory) as lab, lab.owner.alone():
        plays.deploy(lab, lab.inventory.select(_names(on)))


@task
def program(context, inventory, bitstream, card=None):  # type: ignore[no-untyped-def]
    """A bitstream into a card that is leased to you."""
    with _lab(inventory) as lab, lab.owner.alone():
        plays.program(lab, card, Path(bitstream).read_bytes())


@task
def configure(context, inventory, config, card=None):  # type: ignore[no-untyped-def]
    """The register file of a card, from a SwitchConfig as YAML or JSON."""
    with _lab(inventory) as lab, lab.owner.alone():
        plays.configure(lab, card, Path(config).read_text(encoding="utf-8"))


@task
def start(context, inventory, card=None):  # type: ignore[no-untyped-def]
    """A card passes frames from now on."""
    with _lab(inventory) as lab, lab.owner.alone():
        plays.start(lab, card)


@task
def stop(context, inventory, card=None):  # type: ignore[no-untyped-def]
    """A card passes no frame from now on."""
    with _lab(inventory) as lab, lab.owner.alone():
        plays.stop(lab, card)


@task
def reset(context, inventory, card=None):  # type: ignore[no-untyped-def]
    """A card as after power-on."""
    with _lab(inventory) as lab, lab.owner.alone():
        plays.reset(lab, card)


@task
def attach(context, inventory, label="data", mtu=1500, on=""):  # type: ignore[no-untyped-def]
    """Keep kernels out of RoCE on an interface."""
    with _lab(inventory) as lab, lab.owner.alone():
        plays.attach(lab, lab.inventory.select(_names(on)), label, int(mtu))


@task
def detach(context, inventory, label="data", on=""):  # type: ignore[no-untyped-def]
    """Give the interface back to the kernel."""
    with _lab(inventory) as lab, lab.owner.alone():
        plays.detach(lab, lab.inventory.select(_names(on)), label)


@task
def collect(context, inventory, run, out, on=""):  # type: ignore[no-untyped-def]
    """Files of a run."""
    with _lab(inventory) as lab:
        plays.collect(lab, lab.inventory.select(_names(on)), run, Path(out))


@task
def power_cycle(context, inventory, on):  # type: ignore[no-untyped-def]
    """Switch hosts off and on."""
    with _lab(inventory) as lab, lab.owner.alone():
        plays.power_cycle(lab, lab.inventory.select(_names(on)))
