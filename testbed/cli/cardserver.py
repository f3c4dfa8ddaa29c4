"""`tb card serve`: an emulated card as a process. Frames by AF_PACKET, registers by datagrams, facts as JSON lines."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from testbed.cli.driving import NodeOrders, drive
from testbed.cli.running import require_root
from workloads.machine import Event

__all__ = ["CardServed", "serve_card"]


@dataclass(frozen=True, slots=True)
class CardServed(Event):
    """Registers are answered from now on."""

    listen: str
    interfaces: tuple[str, ...]
    """data port 0 first"""
    faults: tuple[str, ...]
    """as given"""


def serve_card(args: argparse.Namespace) -> int:
    """Until SIGTERM or SIGINT. Raises ScenarioError, HostCapabilityError."""
    from switch_nodes.fpga.card import EmulatedCard
    from switch_nodes.fpga.conversion import text_words
    from switch_nodes.fpga.datagrams import RegisterServer
    from switch_nodes.fpga.faults import parse_fault
    from switch_nodes.fpga.io.addresses import listen
    from switch_nodes.fpga.io.datagram import RegisterSocket
    from workloads.errors import ScenarioError

    faults = [parse_fault(text) for text in args.faults]
    try:
        text_words(args.serial, 4)
    except ValueError as error:
        raise ScenarioError(str(error), file="tb card serve", key="--serial") from None
    require_root("card serve")
    card = EmulatedCard(len(args.ports), serial=args.serial, load_ns=args.load_time, faults=faults)
    listening = listen(args.listen)

    def control(clock: Callable[[], int]) -> tuple[socket, Callable[[], bool]]:
        return listening, RegisterSocket(listening, RegisterServer(card), clock).serve

    try:
        drive(
            card,
            args.ports,
            backpressure=False,
            until=lambda now: False,
            started=CardServed(args.listen, tuple(args.ports), tuple(args.faults)),
            orders=NodeOrders(control=control),
        )
    finally:
        listening.close()
        kind, _, path = args.listen.partition(":")
        if kind == "unix":
            with contextlib.suppress(FileNotFoundError):
                Path(path).unlink()
    return 0
