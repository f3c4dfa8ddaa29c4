"""Ways to a card's registers as people write them: `udp:127.0.0.1:7077`, `unix:/run/card.sock`,
`bar:/sys/.../resource0`."""

from __future__ import annotations

import socket
from pathlib import Path

from switch_nodes.fpga.errors import CardError
from switch_nodes.fpga.io.datagram import DatagramTransport, connect_udp, connect_unix, listen_udp, listen_unix
from switch_nodes.fpga.io.mapped import MappedTransport
from switch_nodes.fpga.regmap import CONFIGURATION
from workloads.errors import ScenarioError

__all__ = ["FORMS", "listen", "open_transport"]

FORMS = "udp:HOST:PORT, unix:PATH, bar:FILE"


def open_transport(text: str, *, key: str = "--card") -> DatagramTransport | MappedTransport:
    """Raises ScenarioError for what is no address, CardError when nothing is there."""
    kind, _, rest = text.partition(":")
    try:
        if kind == "udp":
            return connect_udp(*_host_port(rest, text, key))
        if kind == "unix" and rest:
            return connect_unix(Path(rest))
        if kind == "bar" and rest:
            return MappedTransport(Path(rest), CONFIGURATION.stop)
    except OSError as error:
        raise CardError(text, f"nothing is there ({error.strerror or error})") from error
    raise _no_address(text, key, FORMS)


def listen(text: str) -> socket.socket:
    """A socket that an emulated card's registers are served on. Raises ScenarioError, also when it cannot be made."""
    kind, _, rest = text.partition(":")
    try:
        if kind == "udp":
            return listen_udp(*_host_port(rest, text, "--listen"))
        if kind == "unix" and rest:
            return listen_unix(Path(rest))
    except OSError as error:
        problem = f"cannot be listened on ({error.strerror or error})"
        raise ScenarioError(problem, key="--listen", found=repr(text)) from error
    raise _no_address(text, "--listen", "udp:127.0.0.1:PORT, unix:PATH")


def _host_port(rest: str, text: str, key: str) -> tuple[str, int]:
    host, _, port = rest.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise _no_address(text, key, FORMS)
    return host.strip("[]"), int(port)


def _no_address(text: str, key: str, allowed: str) -> ScenarioError:
    return ScenarioError("no address of a card's registers", file="tb card", key=key, found=repr(text), allowed=allowed)
