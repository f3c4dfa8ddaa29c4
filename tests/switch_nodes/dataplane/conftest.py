"""A namespace with two wires, and both ways to do packet I/O."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from switch_nodes.dataplane.native_io import NativeIo, native_library
from switch_nodes.dataplane.packet_io import PacketIo
from switch_nodes.dataplane.python_io import PythonIo
from switch_nodes.dataplane.sockets import open_ports
from tests.support.namespace import Namespace, own_namespace
from tests.support.native import require_native
from tests.support.wired import Opener


@pytest.fixture
def space() -> Iterator[Namespace]:
    with own_namespace() as namespace:
        yield namespace


@pytest.fixture(params=["native", "python"])
def opener(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens an I/O on interfaces; closed afterwards."""
    opened: list[PacketIo] = []

    def open_it(interfaces: Sequence[str], *, backpressure: bool, **options: Any) -> PacketIo:
        sockets = open_ports(interfaces, backpressure=backpressure, rate_bps=options.pop("rate_bps", None))
        if request.param == "python":
            opened.append(PythonIo(sockets, backpressure=backpressure, **options))
        else:
            require_native("packet_io")
            library = native_library()
            assert library is not None
            opened.append(NativeIo(library, sockets, backpressure=backpressure, **options))
        return opened[-1]

    yield open_it
    for io in opened:
        io.close()


@pytest.fixture
def control() -> Iterator[tuple[socket.socket, socket.socket]]:
    a, b = socket.socketpair()
    with a, b:
        yield a, b
