"""Which backend serves which fault on which link. Decided before anything is built.

1. A link that ends at a switch node of ours: the node's user-space ports (exact, replayable; they do everything).
2. A link that is down without exception, at an Open vSwitch: its carrier.
3. Any other link: the eBPF classifier in a joint of the link, for what it can do (`testbed.faults.ebpf.support`).
4. What is left and needs no identity: netem, where the kernel has it.
A fault that none of them serves is refused with what is missing; it is never left out.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from testbed.faults.ebpf import support
from testbed.faults.model import NodeFault, PacketFault, PauseStorm, RateChange
from testbed.faults.native import asks_attempts
from testbed.faults.netem import netem_arguments, probe_netem
from testbed.faults.netem import why_not as netem_why_not
from testbed.kernel.namespaces import unshare_network
from testbed.plan import Plan
from testbed.plan.commodity import openflow_switches
from testbed.scenario.transports import transports_of
from testbed.worlds.emulated.carrier import end_at, is_cut
from topologies import Direction, Link, LinkShape
from workloads.errors import HostCapabilityError, InternalError, TestbedError

__all__ = [
    "Assignment",
    "FaultCapabilities",
    "choose_backends",
    "describe",
    "probe_fault_capabilities",
    "spliced_links",
]

_USER_SPACE = "end the link at a switch node of the testbed (switch.commodity: soft)"
_SHOWN = 8
_IN_JOINT = ("ebpf", "netem")
"""backends that act between two pieces of a link"""


@dataclass(frozen=True, slots=True)
class FaultCapabilities:
    """What this machine can do to packets outside of our processes."""

    ebpf: HostCapabilityError | None = None
    """None: it works; else what is missing"""
    netem: HostCapabilityError | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    fault: str
    """its name; empty: the link's own delay and jitter"""
    target: str
    """link or node"""
    direction: str
    """up, down; empty for nodes and rate changes of both directions"""
    backend: str
    """user, ebpf, netem, netlink, signal"""
    at: str
    """node where it acts: of `user`, `netlink` and `signal`; else the one whose frames it sees"""


def choose_backends(plan: Plan, probe: Callable[[], FaultCapabilities]) -> tuple[Assignment, ...]:
    """One assignment for each fault and link direction (or node), in the order of the scenario, then those of links
    that delay by themselves. `probe` is asked where a link ends at no switch of ours. Raises HostCapabilityError when
    the scenario needs what the machine lacks."""
    topology, openflow = plan.scenario.topology, openflow_switches(plan)
    ours = {config.name for config in plan.switches} - openflow
    capabilities = cache(probe)
    chosen: list[Assignment] = []
    for fault in plan.scenario.faults:
        if isinstance(fault, NodeFault):
            backend = "user" if isinstance(fault, PauseStorm) else "signal"
            chosen.append(Assignment(fault.name, fault.node, "", backend, fault.node))
        elif isinstance(fault, RateChange):
            for name in fault.links:
                link = topology.link(name)
                for direction in fault.directions:
                    chosen.append(Assignment(fault.name, name, str(direction), "netlink", _sender(link, direction)))
        elif isinstance(fault, PacketFault):
            for name in fault.links:
                link = topology.link(name)
                for direction in fault.directions:
                    near, far = _our_end(link, direction, ours), end_at(link, openflow)
                    if near is not None:
                        backend, at = "user", near
                    elif far is not None and is_cut(fault):
                        backend, at = "netlink", far[0]
                    else:
                        backend, at = _foreign(fault, link, direction, plan, capabilities()), _sender(link, direction)
                    chosen.append(Assignment(fault.name, name, str(direction), backend, at))
        else:
            raise InternalError(f"no backend for {type(fault).__name__}")
    chosen += _delays(plan, capabilities, ours)
    _check_netem(plan, chosen)
    return tuple(chosen)


def _check_netem(plan: Plan, chosen: Iterable[Assignment]) -> None:
    """What netem gets on one interface must fit one qdisc."""
    faults = {fault.name: fault for fault in plan.scenario.faults if isinstance(fault, PacketFault)}
    places = {(item.target, item.direction) for item in chosen if item.backend == "netem"}
    for link, direction in sorted(places):
        here = [item for item in chosen if (item.target, item.direction, item.backend) == (link, direction, "netem")]
        shape = plan.scenario.topology.link(link).shape if any(not item.fault for item in here) else LinkShape()
        try:
            netem_arguments(
                [faults[item.fault] for item in here if item.fault], delay_ns=shape.delay_ns, jitter_ns=shape.jitter_ns
            )
        except InternalError as error:
            raise HostCapabilityError(
                f"a backend for all faults of link {link} {direction}: {error}", _USER_SPACE
            ) from None


def _delays(plan: Plan, capabilities: Callable[[], FaultCapabilities], ours: set[str]) -> Iterable[Assignment]:
    for link in plan.scenario.topology.links:
        if not link.shape.delay_ns and not link.shape.jitter_ns:
            continue
        for direction in Direction:
            near = _our_end(link, direction, ours)
            if near is not None:
                yield Assignment("", link.name, str(direction), "user", near)
            elif (error := capabilities().netem) is not None:
                raise _lacking(f"the delay of link {link.name}, which ends at no switch of ours", [error])
            else:
                yield Assignment("", link.name, str(direction), "netem", _sender(link, direction))


def _foreign(fault: PacketFault, link: Link, direction: Direction, plan: Plan, capabilities: FaultCapabilities) -> str:
    """Backend for a fault on a link that ends at no node of ours."""
    beside = sum(
        isinstance(other, PacketFault)
        and link.name in other.links
        and direction in other.directions
        and support.why_not(other) is None
        for other in plan.scenario.faults
    )
    by_ebpf = support.why_not(fault)
    if by_ebpf is None and asks_attempts([fault], transports_of(plan.scenario)):
        by_ebpf = "eBPF knows a repetition by its bytes, and those of the job's packets change"
    if by_ebpf is None and beside > support.MAX_RULES:
        by_ebpf = f"eBPF serves {support.MAX_RULES} faults on one direction of a link"
    if by_ebpf is None and capabilities.ebpf is None:
        return "ebpf"
    by_netem = netem_why_not(fault)
    if by_netem is None and capabilities.netem is None:
        return "netem"
    what = f"fault {fault.name} on link {link.name}, which ends at no switch of ours"
    missing = [
        error
        for reason, error in ((by_ebpf, capabilities.ebpf), (by_netem, capabilities.netem))
        if not reason and error
    ]
    if missing:
        raise _lacking(what, missing)
    raise HostCapabilityError(f"a backend for {what}: {by_ebpf}; {by_netem}", _USER_SPACE)


def _lacking(what: str, missing: list[HostCapabilityError]) -> HostCapabilityError:
    """Each of `missing` would do."""
    names = [error.missing for error in missing]
    lacks = (
        f"{names[0]}, needed for" if len(names) == 1 else f"{' and '.join(names)} (one of them is enough), needed for"
    )
    return HostCapabilityError(f"{lacks} {what}", "; or ".join(error.remedy for error in missing))


def _our_end(link: Link, direction: Direction, ours: set[str]) -> str | None:
    """Our switch that serves this direction: the receiving one before the sending one, as `make_filters` does it."""
    for end in (_receiver(link, direction), _sender(link, direction)):
        if end in ours:
            return end
    return None


def _sender(link: Link, direction: Direction) -> str:
    return link.a if direction is Direction.UP else link.b


def _receiver(link: Link, direction: Direction) -> str:
    return link.b if direction is Direction.UP else link.a


def spliced_links(assignments: Iterable[Assignment]) -> frozenset[str]:
    """Names of the links that need a joint."""
    return frozenset(item.target for item in assignments if item.backend in _IN_JOINT)


def describe(assignments: Iterable[Assignment]) -> list[str]:
    """One line for each fault, backend and node: `loss-1: user-space ports of s1 (h1-s1 up, h1-s1 down)`, at most eight
    places."""
    where: dict[tuple[str, str, str], list[str]] = {}
    for item in assignments:
        place = where.setdefault((item.fault, item.backend, item.at), [])
        place.append(f"{item.target} {item.direction}".strip())
    text = {
        "user": "user-space ports of {}",
        "ebpf": "eBPF on what {} sends",
        "netem": "netem (by chance, not by identity) on what {} sends",
        "netlink": "the interfaces of {}",
        "signal": "signals to {}",
    }
    return [
        f"{fault or 'link delay'}: {text[backend].format(at)} ({_some(places)})"
        for (fault, backend, at), places in where.items()
    ]


def _some(places: Sequence[str]) -> str:
    more = len(places) - _SHOWN
    return ", ".join(places[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def probe_fault_capabilities() -> FaultCapabilities:
    """Try eBPF and netem on an interface of a network namespace that exists only for that."""
    return FaultCapabilities(_in_namespace(_try_ebpf), _in_namespace(lambda: probe_netem("lo")))


def _try_ebpf() -> None:
    from testbed.faults.ebpf.attach import EbpfFaults
    from testbed.faults.matching import ConnectionTable
    from testbed.faults.way import LinkWay

    EbpfFaults.attach("lo", LinkWay(0, "probe", Direction.UP, ConnectionTable(())), ()).detach()


def _in_namespace(probe: Callable[[], None]) -> HostCapabilityError | None:
    """Run `probe` on a thread of its own in a new network namespace, which ends with the thread."""
    result: list[HostCapabilityError | None] = []

    def body() -> None:
        try:
            unshare_network()
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run(["ip", "link", "set", "lo", "up"], capture_output=True, timeout=5, check=False)
            probe()
        except HostCapabilityError as error:
            result.append(error)
        except OSError as error:
            result.append(HostCapabilityError(f"network namespaces ({error.strerror})", "run as root (CAP_SYS_ADMIN)"))
        except TestbedError as error:
            result.append(HostCapabilityError(f"a working fault backend ({error})", "see the message"))
        else:
            result.append(None)

    thread = threading.Thread(target=body, name="probe")
    thread.start()
    thread.join()
    if not result:
        raise InternalError("the probe of the fault backends died")
    return result[0]
