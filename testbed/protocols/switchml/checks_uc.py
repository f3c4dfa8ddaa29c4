"""What must hold for SwitchML over unreliable connections."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.faults.model import Match
from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.checks.fault_checks import check_no_datagram_keys
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.transport import Transport
from workloads.rc.words import words_of
from workloads.uc.transport import opcodes_of

__all__ = ["check_framing", "check_uc_fault"]

_NEVER = "the fault can never hit: "


def check_framing(
    problems: Problems, transport: Transport, job: Job, entries: Sequence[tuple[KeyPath, Job]] = ()
) -> None:
    """Of a SwitchML job, or of each of the `entries` of `jobs`."""
    if transport.framing == "udp" and transport.uc_packets > 1:
        problems.add(
            ("transport", "uc_packets"),
            "a datagram is one packet",
            found=str(transport.uc_packets),
            allowed="1, or transport.framing: uc",
        )
        return
    for path, each in entries or [(("job",), job)]:
        if each.window_packets < transport.uc_packets:
            problems.add(
                (*path, "window_packets"),
                "the window holds no message",
                found=f"{each.window_packets}, and {transport.uc_packets} packets of a message",
                allowed=f"{transport.uc_packets} or more",
            )


def check_uc_fault(
    problems: Problems, path: KeyPath, kind: str, match: Match, transport: Transport, ranks: int | None
) -> None:
    """Queue pairs, opcodes and PSNs are known beforehand; messages are not, since each repetition is one more."""
    if kind == "forge":
        problems.add(
            (*path, "kind"),
            f"{_NEVER}forgeries are made of packets of reliable connections",
            found=kind,
            allowed="loss, burst, drop, corrupt, duplicate, reorder, delay, ecn_mark, link_down, rate_change, kill, "
            "pause",
        )
    sent = opcodes_of(transport.uc_packets)
    if match.opcodes is not None and not match.opcodes & sent:
        problems.add(
            (*path, "match", "opcode"),
            f"{_NEVER}no such packet is sent in messages of {transport.uc_packets}",
            found=", ".join(words_of(match.opcodes)),
            allowed=f"data, {', '.join(words_of(sent))}",
        )
    if match.syndrome is not None:
        problems.add(
            (*path, "match", "syndrome"),
            f"{_NEVER}nothing is acknowledged on an unreliable connection",
            found=f"{match.syndrome:#04x}",
            allowed="leave the key out",
        )
    if match.message is not None or match.packet not in (None, 0, -1):
        key, found = ("message", match.message) if match.message is not None else ("packet", match.packet)
        problems.add(
            (*path, "match", key),
            "messages on unreliable connections are not planned: each repetition is one more",
            found=str(found),
            allowed="opcode, psn_offset, rank, and packet: 0 or last",
        )
    if match.attempt is not None and match.attempt > 1:
        problems.add(
            (*path, "match", "attempt"),
            f"{_NEVER}a repetition is a message of its own, with PSNs of its own",
            found=str(match.attempt),
            allowed="1",
        )
    check_no_datagram_keys(problems, (*path, "match"), match)
    if ranks is not None and match.source_rank is not None and match.source_rank >= ranks:
        problems.add(
            (*path, "match", "rank"),
            f"{_NEVER}no such rank",
            found=str(match.source_rank),
            allowed=f"0 to {ranks - 1}",
        )
