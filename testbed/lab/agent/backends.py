"""What the agent drives: cards through the driver of `switch_nodes.fpga`, and the processes of runs."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from testbed.lab.agent.answers import CardAccount
from testbed.lab.agent.cards import CardBackend
from testbed.lab.agent.protocol import AgentRefused
from testbed.lab.agent.requests import PrepareProcess
from testbed.lab.agent.runs import checked_name

__all__ = ["DriverBackend", "backends", "process_argv"]


_LINGER = ("--linger", "60min")
"""options that keep the process until it is stopped: a worker that has finished answers peers that have not"""


class DriverBackend:
    """A card behind a byte transport; the way is opened again after an error."""

    def __init__(self, card: str, transport: str, program_timeout_s: float) -> None:
        from switch_nodes.fpga.driver import CardDriver
        from switch_nodes.fpga.io.addresses import open_transport

        self._limit_ns = int(program_timeout_s * 1e9)
        self._card = card
        self._transport = open_transport(transport, key=f"cards.{card}.transport")
        self._driver = CardDriver(
            self._transport, card=card, clock=time.monotonic_ns, sleep=lambda pause_ns: time.sleep(pause_ns / 1e9)
        )

    def bitstream(self) -> str | None:
        return self._driver.state().bitstream or None

    def program(self, data: bytes) -> None:
        self._driver.program(data, limit_ns=self._limit_ns)

    def reset(self) -> None:
        self._driver.reset()

    def act(self, verb: str, fields: Mapping[str, Any]) -> Any:
        match verb:
            case "configure":
                self._driver.configure(_switch_config(str(fields["config"]), self._card))
                return None
            case "start":
                return self._driver.start()
            case "stop":
                return self._driver.stop()
            case "counters":
                return self._driver.counters()
            case "state":
                return CardAccount(**_named(self._driver.identity()), **_named(self._driver.state()))
            case "configuration":
                rings = self._driver.configuration().rings
                return tuple(
                    (ring.ring_id, len(ring.members), ring.message_packets, ring.window_messages) for ring in rings
                )
            case "read":
                return self._transport.read(int(fields["address"]), int(fields["size"])).hex()
            case "write":
                return self._transport.write(int(fields["address"]), bytes.fromhex(fields["data"]))
        raise AgentRefused(f"a card does not know {verb!r}")

    def close(self) -> None:
        self._transport.close()


def _switch_config(text: str, card: str) -> Any:
    from switch_nodes.config import SwitchConfig
    from testbed.plan.nodeconfig import parse_node_config

    return parse_node_config(text, f"configuration of card {card}", SwitchConfig)


def _named(value: Any) -> dict[str, Any]:
    """Its fields; flags by their names, none of them as an empty one."""
    items = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {name: (item.name or "") if isinstance(item, Enum) else item for name, item in items.items()}


def backends(cards: Mapping[str, Mapping[str, Any]]) -> dict[str, Callable[[], CardBackend]]:
    """`{name: {"transport": ..., "program_timeout_s": ...}}` -> how each is opened."""

    def opener(name: str, more: Mapping[str, Any]) -> Callable[[], CardBackend]:
        return lambda: DriverBackend(name, str(more["transport"]), float(more["program_timeout_s"]))

    return {name: opener(name, more) for name, more in cards.items()}


def process_argv(request: PrepareProcess) -> list[str]:
    """Raises Refused: a client chooses among these, and never a command of its own."""
    if request.kind != "worker":
        raise AgentRefused(f"this agent starts no {request.kind!r}")
    if request.device.startswith("-"):
        raise AgentRefused("not an interface")
    capture = ["--capture", f"{checked_name(request.name)}.pcapng"] if request.capture else []
    worker = [sys.executable, "-P", "-m", "testbed", "worker", "--barrier", *_LINGER]
    if request.dilation != 1:
        worker += ["--dilation", str(request.dilation)]
    return [*worker, *capture, "--port", request.device, "--config"]
