"""The emulated card of a lab: a process on the card's host with its data ports, and its registers on a unix socket.

    python -m testbed.lab.emulated.card SOCKET TRACE LOAD_MS FAULTS PORT...

TRACE: where it tells what it did, as JSON lines; a lab can collect that from a card that has such a thing.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

from testbed.lab.emulated.shape import CARD_SOCKET, CARD_TRACE, PYTHON, LabShape

__all__ = ["card_command", "main"]


def card_command(shape: LabShape) -> tuple[str, ...]:
    """Faults as `switch_nodes.fpga.faults` reads them. Raises ScenarioError."""
    from switch_nodes.fpga.faults import parse_fault

    for fault in shape.card_faults:
        parse_fault(fault)
    ports = [f"p{number}" for number in range(shape.hosts)]
    own = (PYTHON, "-P", "-m", "testbed.lab.emulated.card")
    return (*own, CARD_SOCKET, CARD_TRACE, str(shape.card_load_ms), ",".join(shape.card_faults), *ports)


def main(argv: list[str]) -> int:
    from switch_nodes.dataplane import DataPlane
    from switch_nodes.fpga.card import EmulatedCard
    from switch_nodes.fpga.datagrams import RegisterServer
    from switch_nodes.fpga.faults import parse_fault
    from switch_nodes.fpga.io.datagram import RegisterSocket, listen_unix
    from testbed.worlds.emulated.control import make_record
    from workloads.machine import Event

    path, trace, load_ms, faults, *ports = argv
    card = EmulatedCard(
        len(ports),
        load_ns=int(load_ms) * 1_000_000,
        faults=[parse_fault(fault) for fault in faults.split(",") if fault],
    )
    origin = time.monotonic_ns()
    listening = listen_unix(Path(path))
    registers = RegisterSocket(listening, RegisterServer(card), lambda: time.monotonic_ns() - origin)
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    with open(trace, "w", buffering=1, encoding="utf-8") as file:

        def tell(now: int, event: Event) -> None:
            # CLOCK_REALTIME, which the agent of the host knows too: who collects counts from its own start.
            record = make_record(time.time_ns(), "card", event)
            file.write(json.dumps(record, separators=(",", ":"), default=_plain) + "\n")

        plane = DataPlane(card, ports, backpressure=False, on_event=tell, control=listening, on_control=registers.serve)
        plane.run(origin, until=lambda: bool(stopped))
    return 0


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value.tolist()  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
