"""Network namespaces of a test's own, with veth pairs inside."""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from collections.abc import Iterator
from pathlib import Path

from pyroute2 import IPRoute

__all__ = ["Namespace", "own_namespace"]

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class Namespace:
    """The calling thread is inside while this is open; sockets that it opens stay there."""

    def __init__(self, route: IPRoute) -> None:
        self.route = route

    def index(self, interface: str) -> int:
        return int(self.route.link_lookup(ifname=interface)[0])

    def veth(self, a: str, b: str, *, mtu: int = 1500) -> None:
        """A pair, up, without offloads that matter to raw sockets."""
        self.route.link("add", ifname=a, kind="veth", peer=b)
        for name in (a, b):
            self.route.link("set", index=self.index(name), mtu=mtu, state="up")
        for name in (a, b):
            self.wait_until_up(name)

    def wait_until_up(self, interface: str) -> None:
        """The kernel activates the queue of a new link a little later, and silently drops what is sent until then."""
        index, deadline = self.index(interface), time.monotonic() + 5
        while self.route.get_links(index)[0].get_attr("IFLA_OPERSTATE") != "UP":
            if time.monotonic() > deadline:
                raise TimeoutError(f"{interface} does not come up")
            time.sleep(0.001)

    def shape(self, interface: str, rate_bps: int, *, limit: int | None = None) -> None:
        """HTB on egress with a pfifo of `limit` frames (default: that of the device, 1000)."""
        index = self.index(interface)
        rate = f"{rate_bps // 1000}kbit"
        self.route.tc("add", "htb", index=index, handle="1:", default="1:1")
        self.route.tc(
            "add-class", "htb", index=index, handle="1:1", parent="1:0", rate=rate, burst=16000, quantum=60000
        )
        if limit is not None:
            self.route.tc("add", "pfifo", index=index, handle="10:", parent="1:1", limit=limit)

    def link_state(self, interface: str, state: str) -> None:
        self.route.link("set", index=self.index(interface), state=state)
        if state == "up":
            self.wait_until_up(interface)

    def counters(self, interface: str) -> tuple[int, int]:
        """(frames received, frames sent) as the kernel counts them."""
        stats = self.route.get_links(self.index(interface))[0].get_attr("IFLA_STATS64")
        return int(stats["rx_packets"]), int(stats["tx_packets"])


@contextlib.contextmanager
def own_namespace() -> Iterator[Namespace]:
    """A new namespace without IPv6 chatter and without a name: it goes with the last socket in it, whatever happens.
    The thread returns home afterwards."""
    with contextlib.ExitStack() as undo:
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        undo.callback(os.close, home)
        _check(_libc.unshare(_CLONE_NEWNET), "unshare")
        undo.callback(lambda: _check(_libc.setns(home, _CLONE_NEWNET), "setns"))
        with contextlib.suppress(FileNotFoundError):
            Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
        yield Namespace(undo.enter_context(IPRoute()))


def _check(result: int, call: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), call)
