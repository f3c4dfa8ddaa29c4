"""What PFC asks of the rest of a scenario: a world that has it, buffers with room, and faults that it can follow."""

from __future__ import annotations

from collections.abc import Sequence

from switch_nodes.kinds import program_kinds
from testbed.faults.model import Kill, Pause, PauseStorm, RateChange
from testbed.reading.problems import KeyPath, Problems, closest
from testbed.reading.units import format_duration, format_size
from testbed.scenario.keys.fault_loader import Placed
from testbed.scenario.keys.pfc import Pfc
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.lossless import largest_frame, limits_of, response_of
from topologies import Topology, attachment
from workloads.wire.pfc import pause_ns

__all__ = ["check_no_pfc", "check_pfc", "check_pfc_faults"]


def check_no_pfc(problems: Problems, switch: SwitchOptions, faults: Sequence[Placed]) -> None:
    """A scenario without PFC asks for nothing that only PFC has."""
    if switch.slot_memory != "own":
        problem = "without PFC, no packet charges a port"
        problems.add(
            ("switch", "slot_memory"), problem, found=f"'{switch.slot_memory}'", allowed="own; or a section pfc"
        )
    for path, _, fault in faults:
        if isinstance(fault, PauseStorm):
            problem = "no node of this scenario obeys PFC"
            problems.add((*path, "kind"), problem, found="'pause_storm'", allowed="other kinds; or a section pfc")


def check_pfc(
    problems: Problems, pfc: Pfc, world: str, topology: Topology, switch: SwitchOptions, faults: Sequence[Placed]
) -> None:
    """All problems."""
    if world == "lab":
        allowed = "world: simulated, emulated"
        problems.add(("pfc",), "cards of a lab have no PFC", found=f"world {world}", allowed=allowed)
    for index, link in enumerate(topology.links):
        here = ("topology", "links", index if topology.kind == "custom" else link.name)
        if link.shape.jitter_ns:
            found = format_duration(link.shape.jitter_ns)
            problems.add(
                (*here, "jitter"), "headroom is worked out for delays without jitter", found=found, allowed="0ns"
            )
            break
        if link.shape.drop_low_above_packets is not None:
            problem, found = "buffers of PFC drop no class early", str(link.shape.drop_low_above_packets)
            problems.add((*here, "drop_low_above"), problem, found=found, allowed="none")
            break
        if link.shape.priority == "fair":
            problem = "buffers of PFC have queues for classes, not for flows"
            problems.add((*here, "priority"), problem, found="'fair'", allowed="none, layers, weighted")
            break
        if link.shape.trims:
            problem = "a lossless buffer has no full queue that could trim"
            problems.add((*here, "queue_full"), problem, found="'trim'", allowed="drop")
            break
    known = [host.name for host in topology.hosts]
    for name, _ in pfc.receivers:
        if name not in known:
            hint = closest(name, known)
            problems.add(("pfc", "receivers", name), "no such host", allowed=", ".join(known), hint=hint)
    _check_buffers(problems, pfc, topology)
    _check_quanta(problems, pfc, topology)
    _check_slots(problems, switch, topology)
    check_pfc_faults(problems, pfc, topology, faults)


def _check_buffers(problems: Problems, pfc: Pfc, topology: Topology) -> None:
    """Headroom and reserves leave something to share."""
    for node in topology.switches:
        limits = limits_of(pfc, topology, node.name)
        kept = sum(each.headroom + each.reserve for each in limits.values())
        wanted = kept + max(largest_frame(link.shape) for _, link, _ in topology.ports(node.name))
        if pfc.buffer_bytes < wanted:
            most = max((each.headroom for each in limits.values()), default=0)
            problem = (
                f"headroom and reserves of {node.name} fill its buffer (up to {most} B of headroom per port and class)"
            )
            found, allowed = format_size(pfc.buffer_bytes), f"at least {wanted} B"
            problems.add(("pfc", "buffer"), problem, found=found, allowed=allowed)
            return


def _check_quanta(problems: Problems, pfc: Pfc, topology: Topology) -> None:
    """A pause that is asked for again after half its time never runs out in between."""
    for link in topology.links:
        shape, frame_bits = link.shape, 8 * largest_frame(link.shape)
        late = 2 * frame_bits * 1_000_000_000 // shape.rate_bps + shape.delay_ns + response_of(pfc, shape)
        if pause_ns(pfc.quanta, shape.rate_bps) < 2 * late:
            least = -(-2 * late * shape.rate_bps // 512_000_000_000)
            problem = f"a pause on {link.name} would end before it is asked for again"
            problems.add(("pfc", "quanta"), problem, found=str(pfc.quanta), allowed=f"{least} to 65535")
            return


def _check_slots(problems: Problems, switch: SwitchOptions, topology: Topology) -> None:
    if switch.slot_memory == "own":
        return
    kind = program_kinds().get(switch.program)
    if kind is not None and not kind.reports_slots:
        able = ", ".join(name for name, each in program_kinds().items() if each.reports_slots)
        problem = f"program {switch.program} does not report what waits in its slots"
        allowed = f"own; or switch.program: {able}"
        problems.add(("switch", "slot_memory"), problem, found="'shared'", allowed=allowed)
    elif len(topology.switches) > 1 and attachment(topology) is None:
        problem = "where several switches sum, it is not known which packets a slot waits for"
        allowed = "own; or a topology with one switch, or topology.kind: rack_accelerator"
        problems.add(("switch", "slot_memory"), problem, found="'shared'", allowed=allowed)


def check_pfc_faults(problems: Problems, pfc: Pfc, topology: Topology, faults: Sequence[Placed]) -> None:
    """Faults that PFC cannot follow."""
    switches, hosts = {node.name for node in topology.switches}, [node.name for node in topology.hosts]
    for path, kind, fault in faults:
        if isinstance(fault, RateChange):
            problem = "headroom and pause times are worked out for one rate"
            problems.add((*path, "kind"), problem, found=f"'{kind}'", allowed="other kinds of faults with pfc")
        elif isinstance(fault, Kill | Pause) and fault.node in switches:
            where: KeyPath = (*path, "node")
            problem = "a switch with PFC neither stops nor restarts"
            problems.add(where, problem, found=fault.node, allowed=", ".join(hosts))
        elif isinstance(fault, PauseStorm):
            if fault.node in switches:
                problem = "only hosts make pause storms"
                problems.add((*path, "node"), problem, found=fault.node, allowed=", ".join(hosts))
            if fault.pfc_class not in pfc.classes:
                allowed = ", ".join(map(str, sorted(set(pfc.classes))))
                problems.add(
                    (*path, "class"), "no packet is of this class", found=str(fault.pfc_class), allowed=allowed
                )
