"""The eBPF program of the faults on one interface: attach it, read its hits, detach it. Works in the caller's network
namespace."""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from testbed.faults.decide import flow_key
from testbed.faults.ebpf.build import build_object
from testbed.faults.ebpf.libbpf import BpfObject
from testbed.faults.ebpf.support import MAX_RULES, why_not
from testbed.faults.events import FaultHealed, FaultStruck
from testbed.faults.healing import heals_at, kind_of
from testbed.faults.identity import NOT_ROCE, flow_text
from testbed.faults.model import PacketFault
from testbed.faults.native import c_rules
from testbed.faults.way import LinkWay
from workloads.errors import HostCapabilityError, InternalError
from workloads.machine import Event
from workloads.wire.damage import EXTENSION_BYTES

__all__ = ["EbpfFaults"]

_INGRESS = 0xFFFFFFF2
"""parent of clsact's ingress side (linux/pkt_sched.h: TC_H_CLSACT and TC_H_MIN_INGRESS)"""
_PRIORITY = 1
_LOG_ENTRIES = 65536
_UNCOUNTED, _LOGGED, _COUNTERS = MAX_RULES, MAX_RULES + 1, MAX_RULES + 3
_STRIKE = np.dtype(
    [
        ("at_ns", "u8"),
        *((name, "u4") for name in ("rule", "copy", "occurrence", "roce", "opcode", "psn", "qpn", "version")),
        ("src", "u4", 4),
        ("dst", "u4", 4),
        ("ready", "u4"),
        ("reserved", "u4"),
    ]
)
"""layout of the record that fault.c writes for a hit"""


class EbpfFaults:
    """The faults of one link direction on the ingress of an interface. No packet is hit or counted before `start`."""

    def __init__(self, way: LinkWay, faults: Sequence[PacketFault], *, dilation: int = 1) -> None:
        """Raises HostCapabilityError as `build_object` and `BpfObject` do, InternalError for faults that eBPF cannot
        serve (`choose_backends` never asks for them)."""
        for fault in faults:
            if (reason := why_not(fault)) is not None:
                raise InternalError(f"fault {fault.name}: {reason}")
        if len(faults) > MAX_RULES:
            raise InternalError(f"{len(faults)} faults on link {way.link}, eBPF serves {MAX_RULES}")
        self.faults, self.link, self.direction = tuple(faults), way.link, way.direction
        self._object = BpfObject(build_object())
        for index, rule in enumerate(c_rules(self.faults, way)):
            self._object.update("rules", index.to_bytes(4, "little"), bytes(rule))
        for flow, connection in way.table:
            value = connection.rank.to_bytes(4, "little") + connection.first_psn.to_bytes(4, "little")
            self._object.update("connections", flow_key(*flow).to_bytes(8, "little"), value)
        self._onward, self._dilation = 0, dilation
        self._set_start(0)
        self._counters = self._object.view("counters", np.uint64, _COUNTERS)
        self._log = self._object.view("log_entries", _STRIKE, _LOG_ENTRIES)
        self._next = 0
        self._heal = sorted((at, fault.name) for fault in self.faults if (at := heals_at(fault)) is not None)
        self._index: int | None = None
        self._made_clsact = False

    @classmethod
    def attach(
        cls, ifname: str, way: LinkWay, faults: Sequence[PacketFault], *, onward: str = "", dilation: int = 1
    ) -> Self:
        """Load the program and hang it on the ingress of `ifname`. What no fault takes leaves by the interface
        `onward`, or goes up the stack where that is empty. `dilation`: so many ns of the kernel's are one of the
        faults' windows. Raises also HostCapabilityError when the kernel has no clsact or no cls_bpf, InternalError when
        there is no such interface."""
        made = cls(way, faults, dilation=dilation)
        try:
            made._hang(ifname, onward)
        except BaseException:
            made.detach()
            raise
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.detach()

    def start(self, start_ns: int | None = None) -> None:
        """The traffic starts: `start_ns` is its zero on CLOCK_MONOTONIC (default: now)."""
        self._set_start(time.monotonic_ns() if start_ns is None else start_ns)

    def strikes(self) -> dict[str, int]:
        """How many packets each fault hit, by name."""
        return {fault.name: int(self._counters[index]) for index, fault in enumerate(self.faults)}

    @property
    def uncounted(self) -> int:
        """Frames that passed without a decision, as the table of occurrences was full: not 0 makes the run unknown."""
        return int(self._counters[_UNCOUNTED])

    @property
    def undescribed(self) -> int:
        """Hits that are counted but came too late for the log."""
        return max(0, int(self._counters[_LOGGED]) - _LOG_ENTRIES)

    def events(self, now: int) -> list[tuple[int, Event]]:
        """(when, what): hits since the last call, in order, then the faults whose windows ended. Times, `now` too, are
        ns since the start."""
        found: list[tuple[int, Event]] = []
        end = min(int(self._counters[_LOGGED]), _LOG_ENTRIES)
        while self._next < end and self._log[self._next]["ready"]:
            entry = self._log[self._next]
            found.append((int(entry["at_ns"]), self._struck(entry)))
            self._next += 1
        while self._heal and now >= self._heal[0][0]:
            at, fault = self._heal.pop(0)
            found.append((at, FaultHealed(fault, self.link)))
        return found

    def detach(self) -> None:
        """Take the program away; counters and log stay readable. Harmless when done twice."""
        index, self._index = self._index, None
        if index is not None:
            with IPRoute() as netlink, contextlib.suppress(NetlinkError):  # the interface may be gone, and all with it
                if self._made_clsact:
                    netlink.tc("del", "clsact", index)
                else:
                    netlink.tc("del-filter", "bpf", index, parent=_INGRESS, prio=_PRIORITY)
        self.close()

    def close(self) -> None:
        """Let go of the program, which stays where it hangs until its interface goes."""
        self._object.close()

    def _hang(self, ifname: str, onward: str) -> None:
        with IPRoute() as netlink:
            index = _index(netlink, ifname)
            if onward:
                self._onward = _index(netlink, onward)
                self._set_start(0)
            try:
                netlink.tc("add", "clsact", index)
                self._made_clsact = True
            except NetlinkError as error:
                if error.code != errno.EEXIST:
                    raise HostCapabilityError(
                        f"the clsact qdisc ({error.args[1]})", "use a kernel with CONFIG_NET_SCH_INGRESS, as root"
                    ) from None
            self._index = index
            try:
                netlink.tc(
                    "add-filter",
                    "bpf",
                    index,
                    fd=self._object.program("faults"),
                    name="ina_faults",
                    parent=_INGRESS,
                    prio=_PRIORITY,
                    direct_action=True,
                )
            except NetlinkError as error:
                raise HostCapabilityError(
                    f"the bpf classifier of tc ({error.args[1]})", "use a kernel with CONFIG_NET_CLS_BPF, as root"
                ) from None

    def _set_start(self, start_ns: int) -> None:
        self._object.update(
            "settings",
            bytes(4),
            start_ns.to_bytes(8, "little")
            + len(self.faults).to_bytes(4, "little")
            + self._onward.to_bytes(4, "little")
            + self._dilation.to_bytes(8, "little")
            + bytes(EXTENSION_BYTES),
        )

    def _struck(self, entry: Any) -> FaultStruck:
        fault = self.faults[int(entry["rule"])]
        roce = bool(entry["roce"])
        words = 1 if entry["version"] == 4 else 4
        source, destination = (
            b"".join(int(word).to_bytes(4, "big") for word in entry[end][:words]) for end in ("src", "dst")
        )
        return FaultStruck(
            fault.name,
            kind_of(fault),
            "ebpf",
            self.link,
            str(self.direction),
            flow_text((source, destination, int(entry["qpn"])) if roce else None),
            int(entry["opcode"]) if roce else NOT_ROCE,
            int(entry["psn"]),
            int(entry["occurrence"]),
        )


def _index(netlink: Any, ifname: str) -> int:
    found = netlink.link_lookup(ifname=ifname)
    if not found:
        raise InternalError(f"no interface {ifname}")
    return int(found[0])
