"""The lab that `tb run` and `tb replay` use: its inventory, and the world that it makes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from testbed.cli.console import Console

if TYPE_CHECKING:
    from testbed.lab.model import Inventory
    from testbed.worlds.base import World

__all__ = ["inventory_of", "lab_world"]


def inventory_of(args: argparse.Namespace) -> Inventory:
    """That of `--inventory`, or the one that is found. Raises ScenarioError."""
    from testbed.lab.find import find_inventory
    from testbed.lab.inventory import load_inventory

    return load_inventory(find_inventory(args.inventory))


def lab_world(args: argparse.Namespace, inventory: Inventory) -> World:
    """The lab alone; with `--card`, emulated hosts with this card of the lab. It prints its steps."""
    from testbed.cli.lab import step_printer
    from testbed.worlds.lab import LabWorld, MixedWorld

    printer = step_printer(Console.of(args))
    return LabWorld(inventory, printer) if args.card is None else MixedWorld(inventory, args.card, printer)
