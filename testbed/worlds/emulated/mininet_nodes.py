"""Mininet classes of ours. They start nothing but Mininet's shell per node, configure through netlink instead of
through shell commands, and print nothing. Import this module only after `doctor.require("mininet")`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
from subprocess import Popen
from typing import Any

from testbed.kernel.ledger import Ledger, LinkEntry
from testbed.kernel.links import add_veth_pair
from testbed.kernel.mininet_api import Host, Intf, Link, Mininet, Node, Switch, lg
from testbed.kernel.processes import child_setup
from testbed.worlds.emulated.namespace_sockets import NamespaceSockets
from testbed.worlds.emulated.splices import Splices
from topologies import Link as Cable
from workloads.errors import HostCapabilityError

__all__ = ["ProgramHost", "ProgramSwitch", "QuietMininet", "ShapedLink", "silence"]

_GLANCE_MS = 100
_PROMPT = chr(127)
"""of Mininet's shells: what ends an answer"""


def silence() -> None:
    """Switch off Mininet's messages. They go to a handler of its own on stderr, and users who run a scenario do not
    want them."""
    lg.setLevel(logging.CRITICAL + 1)
    lg.ch.setLevel(logging.CRITICAL + 1)


class _OwnedNode(Node):  # type: ignore[misc]
    """A node whose shell is in the ledger and dies with us."""

    isSetup = True
    """Mininet's own check wants ifconfig, which we do not use, and calls exit() without it"""
    controlIntf = None

    def __init__(self, name: str, *, ledger: Ledger, **params: Any) -> None:
        self.ledger = ledger
        self.sockets: NamespaceSockets | None = None
        self._postponed: list[tuple[Any, ...]] | None = []
        super().__init__(name, **params)

    def read(self, size: int = 1024) -> str:
        """Mininet waits for each shell before it starts the next one; `greet` and `settle` wait for all at once."""
        return _PROMPT if self._postponed is not None else str(super().read(size))

    def cmd(self, *args: Any, **params: Any) -> str | None:
        if self._postponed is None:
            return super().cmd(*args, **params)  # type: ignore[no-any-return]
        self._postponed.append(args)
        return None

    def greet(self) -> None:
        """When the shell lives, tell it what Mininet wanted to tell. Its namespace is there from now on. Raises
        HostCapabilityError when the shell ended instead."""
        commands, self._postponed = self._postponed or [], None
        said, waiting = "", select.poll()
        waiting.register(self.stdout, select.POLLIN)
        while not said.endswith(_PROMPT):
            # A dead shell's terminal has no end, as we hold its other side.
            ended = self.shell.poll()
            if waiting.poll(_GLANCE_MS):
                said += self.read()
            elif ended is not None:
                raise HostCapabilityError(
                    f"a namespace for {self.name}: Mininet's mnexec ended with exit status {ended}",
                    f"it said: {' / '.join(said.split(chr(13) + chr(10))).strip(' /') or 'nothing'}",
                )
        self.waiting = False
        self.sendCmd("; ".join(" ".join(map(str, command)) for command in commands) or "true")

    def settle(self) -> None:
        """Until the shell has done it."""
        self.waitOutput()

    def _popen(self, cmd: list[str], **params: Any) -> Popen[bytes]:
        parent, role = os.getpid(), f"shell {self.name}"
        ledger = self.ledger
        return Popen(
            cmd,
            preexec_fn=lambda: child_setup(parent, lambda process: ledger.note_process(process, role)),
            **params,
        )

    def terminate(self) -> None:
        """Safe on a node whose start failed half-way."""
        if self.sockets is not None:
            self.sockets.close()
            self.sockets = None
        if self.shell is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.shell.pid, signal.SIGKILL)
        for table in (Node.inToNode, Node.outToNode):
            for handle in [handle for handle, node in table.items() if node is self]:
                del table[handle]
        self.cleanup()


class ProgramHost(_OwnedNode, Host):  # type: ignore[misc]
    """A host in a namespace of its own; what it does is a node process of ours."""


class ProgramSwitch(_OwnedNode, Switch):  # type: ignore[misc]
    """A switch in a namespace of its own. It starts no switch software: the program is a node process of ours."""

    def start(self, controllers: Any) -> None:
        pass

    def stop(self, deleteIntfs: bool = True) -> None:
        pass


class ProgramInterface(Intf):  # type: ignore[misc]
    """One end of a ShapedLink. Knows its addresses for Mininet's CLI; the builder sets them."""

    def config(self, **_params: Any) -> dict[str, Any]:
        return {}

    def updateIP(self) -> str | None:
        """The node's address. Mininet's CLI asks for it by ifconfig, which need not be there. No other code changes our
        addresses."""
        return self.ip  # type: ignore[no-any-return]

    def delete(self) -> None:
        """The interface goes with its namespace."""
        self.node.delIntf(self)
        self.link = None


class ShapedLink(Link):  # type: ignore[misc]
    """A veth pair made by netlink, each end at once in the namespace of its node; the builder shapes it. With `splices`
    two pairs and a joint between them."""

    def __init__(self, node1: Any, node2: Any, *, link: Cable, splices: Splices | None = None, **params: Any) -> None:
        self.cable, self.name, self.splices = link, link.name, splices
        super().__init__(node1, node2, **{**params, "intf": ProgramInterface})

    def makeIntfPair(
        self,
        intfname1: str,
        intfname2: str,
        addr1: bytes,
        addr2: bytes,
        node1: Any,
        node2: Any,
        deleteIntfs: bool = False,
    ) -> None:
        ledger: Ledger = node1.ledger
        here: NamespaceSockets = node1.sockets
        there: NamespaceSockets = node2.sockets
        ledger.note(LinkEntry(intfname1, here.inode))
        ledger.note(LinkEntry(intfname2, there.inode))
        if self.splices is None:
            add_veth_pair(here.netlink, intfname1, addr1, intfname2, addr2, node2.pid, self.cable.shape.mtu)
        else:
            self.splices.add(self.cable, ((intfname1, addr1, node1.pid), (intfname2, addr2, node2.pid)))


class QuietMininet(Mininet):  # type: ignore[misc]
    """Mininet without its changes to the sysctls and limits of the whole machine."""

    inited = True
