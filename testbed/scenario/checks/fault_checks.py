"""Refusal of faults that can never apply, and of faults that contradict each other: a run would prove nothing.

A rate of 0 is allowed: that fault is expected to hit nothing, and a run shows whether it does.

Rules for two faults (windows that touch in no instant never conflict):

* loss, burst, drop, delay, rate_change, link_down: two of one kind on the same link and direction, with the same match,
  contradict in overlapping windows (which rate? which delay?). Different kinds, or different matches, compose.
* kill and pause: two of them on one node in overlapping windows contradict.
* A fault on a link can never apply if a node at an end of that link is killed during the whole window of the fault.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable, Iterator, Mapping, Sequence
from operator import itemgetter

from testbed.faults.base import Fault, LinkFault, Match, NodeFault, PacketFault, Window
from testbed.faults.kinds import record_of
from testbed.faults.model import Delay, Kill, LinkDown
from testbed.faults.opcodes import ACK_OPCODES, IRN_OPCODES, UC_OPCODES
from testbed.reading.known import as_far_as_known
from testbed.reading.problems import KeyPath, Problems
from testbed.reading.units import format_duration
from testbed.scenario.geometry import Geometry
from testbed.scenario.keys.fault_loader import Placed
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.transport import Transport
from topologies import Topology
from workloads.config import IRN_RECOVERIES
from workloads.rc.words import IRN_ANSWERS, is_at, is_request, is_write, words_of

__all__ = ["check_conflicts", "check_match", "check_no_datagram_keys", "check_window"]

_END = 1 << 63


def _span(fault: Fault) -> tuple[int, int]:
    window = getattr(fault, "window", Window())
    stop = _END if window.stop_ns is None else window.stop_ns
    if isinstance(fault, LinkDown) and fault.count > 1:
        stop += (fault.count - 1) * fault.period_ns
    return window.start_ns, stop


def check_window(problems: Problems, path: KeyPath, fault: Fault, time_limit_ns: int) -> None:
    """Rates, times and counts of one fault."""
    window = getattr(fault, "window", Window())
    start, stop = window.start_ns, window.stop_ns
    if stop is not None and stop <= start:
        found = f"from {format_duration(start)} until {format_duration(stop)}"
        problems.add((*path, "until"), "the fault ends before it begins", found=found, allowed="later than `from`")
    if start >= time_limit_ns:
        found, limit = format_duration(start), format_duration(time_limit_ns)
        problems.add((*path, "from"), "the fault can never hit: it begins after the time limit", found=found,
                     allowed=f"before {limit}")  # fmt: skip
    if isinstance(fault, Delay) and fault.delay_ns == 0:
        problems.add((*path, "delay"), "the fault can never hit", found="0ns", allowed="more than 0ns")
    if isinstance(fault, Delay) and fault.jitter_ns > fault.delay_ns:
        found = f"delay {format_duration(fault.delay_ns)}, jitter {format_duration(fault.jitter_ns)}"
        problems.add((*path, "jitter"), "jitter exceeds the delay", found=found, allowed="0 to the delay")
    if isinstance(fault, LinkDown):
        _check_flap(problems, path, fault)


def _check_flap(problems: Problems, path: KeyPath, fault: LinkDown) -> None:
    start, stop = fault.window.start_ns, fault.window.stop_ns
    if fault.count > 1 and stop is None:
        problems.add((*path, "until"), "is missing: a link that flaps must come up again")
    elif fault.count > 1 and stop is not None and fault.period_ns <= stop - start:
        problems.add(
            (*path, "period"),
            "the next time down begins before the link is up again",
            found=f"{format_duration(fault.period_ns)} from start to start, {format_duration(stop - start)} down",
            allowed=f"more than {format_duration(stop - start)}",
        )
    elif fault.count == 1 and fault.period_ns:
        problems.add((*path, "period"), "applies to a count of 2 or more", found=format_duration(fault.period_ns))


def check_match(
    problems: Problems,
    path: KeyPath,
    match: Match,
    hosts: int | None,
    job: Job,
    transport: Transport,
    sizes: Geometry | None,
) -> None:
    """Could any packet of this job match? `sizes`: None where the scenario does not tell."""
    never = "the fault can never hit: "
    check_no_datagram_keys(problems, path, match)
    if hosts is not None and match.source_rank is not None and match.source_rank >= hosts:
        problems.add((*path, "rank"), f"{never}no such rank", found=str(match.source_rank), allowed=f"0 to {hosts - 1}")
    if match.syndrome is not None and match.opcodes != ACK_OPCODES:
        problems.add((*path, "syndrome"), f"{never}only an ACKNOWLEDGE has a syndrome", found=f"{match.syndrome:#04x}",
                     allowed="with `opcode: ACKNOWLEDGE`")  # fmt: skip
    _check_opcodes(problems, path, match, transport)
    if sizes is None:
        if match.packet is not None and match.packet >= job.message_packets:
            _too_far(problems, path, match.packet, job.message_packets, "job.message_packets")
        return
    if match.message is not None and match.message >= sizes.messages:
        hello = "the hello and " if sizes.hello else ""
        rest = sizes.messages - int(sizes.hello)
        problems.add((*path, "message"), f"{never}the job has no such message", found=str(match.message),
                     allowed=f"0 to {sizes.messages - 1} ({hello}{rest} of gradients)")  # fmt: skip
        return
    if match.psn_offset is not None and match.psn_offset >= sizes.packets:
        problems.add((*path, "psn_offset"), f"{never}a connection has fewer packets", found=str(match.psn_offset),
                     allowed=f"0 to {sizes.packets - 1}")  # fmt: skip
    if match.packet is not None:
        longest = max(sizes.full_packets if sizes.per_iteration > 1 else 0, sizes.last_packets)
        length = longest if match.message is None else sizes.packets_of(match.message)
        if match.packet >= length:
            _too_far(problems, path, match.packet, length, "the longest" if match.message is None else "that message")


def check_no_datagram_keys(problems: Problems, path: KeyPath, match: Match) -> None:
    """Of a match for RoCE packets."""
    for key, value in (("kind", match.kind), ("sequence", match.sequence)):
        if value is not None:
            problems.add(
                (*path, key), "the fault can never hit: it is a word for datagrams, and the job sends RoCE packets",
                found=repr(value), allowed="opcode, psn_offset, message, packet, rank, attempt",
            )  # fmt: skip


def _too_far(problems: Problems, path: KeyPath, packet: int, length: int, what: str) -> None:
    problems.add((*path, "packet"), "the fault can never hit: no message has so many packets", found=str(packet),
                 allowed=f"last, or 0 to {length - 1} ({what}: {length} packets)")  # fmt: skip


def _check_opcodes(problems: Problems, path: KeyPath, match: Match, transport: Transport) -> None:
    if match.opcodes is None:
        return
    if match.opcodes <= UC_OPCODES:
        problems.add((*path, "opcode"), "the fault can never hit: the hosts' connections are reliable ones",
                     found=", ".join(words_of(match.opcodes)),
                     allowed="data, WRITE_FIRST and the like, or transport.framing: uc")  # fmt: skip
        return
    if _check_answers(problems, path, match.opcodes, transport.recovery):
        return
    requests = [code for code in match.opcodes - UC_OPCODES if is_request(code)]
    if transport.recovery in IRN_RECOVERIES:
        if requests and not IRN_OPCODES & set(requests):
            problems.add((*path, "opcode"), "the fault can never hit: recovery irn sends no such packet",
                         found=", ".join(words_of(match.opcodes)),
                         allowed="data, WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMM")  # fmt: skip
        return
    if requests and not any(is_write(code) == (transport.verb == "write") for code in requests):
        prefix = transport.verb.upper()
        problems.add((*path, "opcode"), f"the fault can never hit: verb {transport.verb} sends no such packet",
                     found=", ".join(words_of(match.opcodes)),
                     allowed=f"data, {prefix}_FIRST, {prefix}_MIDDLE, {prefix}_LAST_IMM, {prefix}_ONLY_IMM")  # fmt: skip  # noqa: E501
    elif match.packet is not None and requests and not any(is_at(code, match.packet) for code in requests):
        where = "last" if match.packet < 0 else str(match.packet)
        problems.add((*path, "packet"), "the fault can never hit: the opcode stands elsewhere in a message",
                     found=f"{where} with {', '.join(words_of(match.opcodes))}",
                     allowed="FIRST and ONLY are packet 0, LAST and ONLY are the last")  # fmt: skip


def _check_answers(problems: Problems, path: KeyPath, opcodes: frozenset[int], recovery: str) -> bool:
    """Whether only answers match that connections of this recovery never send; then that is a problem."""
    sent = IRN_ANSWERS if recovery in IRN_RECOVERIES else ACK_OPCODES
    if not opcodes <= IRN_ANSWERS | ACK_OPCODES or sent <= opcodes:
        return False
    problems.add((*path, "opcode"), f"the fault can never hit: recovery {recovery} has other answers",
                 found=", ".join(words_of(opcodes)), allowed=words_of(sent)[0])  # fmt: skip
    return True


def check_conflicts(problems: Problems, placed: Sequence[Placed], topology: Topology) -> None:
    """Report each conflict once, at the later of the two faults."""
    apart: dict[Hashable, list[tuple[int, int, Placed]]] = {}
    for item in placed:
        with as_far_as_known():
            _check_apart(problems, item, apart)
    kills: dict[str, list[tuple[int, int, Kill]]] = {}
    for _, _, fault in placed:
        with as_far_as_known():
            if isinstance(fault, Kill):
                insort(kills.setdefault(fault.node, []), (*_span(fault), fault), key=itemgetter(0))
    for path, _, fault in placed:
        if isinstance(fault, LinkFault):
            with as_far_as_known():
                _check_dead_ends(problems, path, fault, kills, topology)


def _check_apart(problems: Problems, item: Placed, apart: dict[Hashable, list[tuple[int, int, Placed]]]) -> None:
    """`apart`: by what they set, the faults so far whose windows do not overlap, by time."""
    path, kind, fault = item
    start, stop = _span(fault)
    free: list[tuple[list[tuple[int, int, Placed]], int]] = []
    for key, where in _sets(fault):
        others = apart.setdefault(key, [])
        at = bisect_right(others, start, key=itemgetter(0))
        near = [other for other in others[max(0, at - 1) : at + 1] if other[0] < stop and start < other[1]]
        if near:
            _, other_kind, other = near[0][2]
            problems.add(
                path,
                f"contradicts fault '{other.name}' ({where}, windows overlap)",
                found=f"{_describe(other_kind, other)} and {_describe(kind, fault)}",
                allowed="one of them, or windows apart",
            )
            return
        free.append((others, at))
    for others, at in free:
        others.insert(at, (start, stop, item))


def _sets(fault: Fault) -> Iterator[tuple[Hashable, str]]:
    """(key, in words) of each thing that a fault sets: no other may set it at the same time."""
    if isinstance(fault, NodeFault):
        yield fault.node, f"node {fault.node}"
    elif isinstance(fault, LinkFault) and record_of(fault).one_figure:
        match = fault.match if isinstance(fault, PacketFault) else None
        for link in fault.links:
            for direction in fault.directions:
                yield (type(fault), match, link, direction), f"link {link} {direction}"


def _describe(kind: str, fault: Fault) -> str:
    return f"{kind} {record_of(fault).describe(fault)}".rstrip()


def _check_dead_ends(
    problems: Problems,
    path: KeyPath,
    fault: LinkFault,
    kills: Mapping[str, Sequence[tuple[int, int, Kill]]],
    topology: Topology,
) -> None:
    if not kills:
        return
    start, stop = _span(fault)
    for node in set.intersection(*({link.a, link.b} for link in map(topology.link, fault.links))) & set(kills):
        dead = kills[node]
        at = bisect_right(dead, start, key=itemgetter(0)) - 1
        if at >= 0 and stop <= dead[at][1]:
            problems.add(
                path,
                f"the fault can never hit: fault '{dead[at][2].name}' has killed {node} by then",
                found=f"{format_duration(start)} on {', '.join(fault.links)}",
                allowed=f"before {format_duration(dead[at][0])}",
            )
