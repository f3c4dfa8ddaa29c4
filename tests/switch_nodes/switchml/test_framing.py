"""The switch's end of unreliable connections: queue pairs, PSNs, keys, and who is refused."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from switch_nodes.switchml import SwitchMlProgram, program, service
from switch_nodes.switchml.framing import create_service
from tests.support.switchml_bench import Bench, job_config, over, switch_config
from tests.support.switchml_framings import FRAMINGS
from workloads.errors import InternalError, ScenarioError
from workloads.switchml import worker
from workloads.wire import Opcode, Packet, decode_packet, icrc_is_valid
from workloads.wire.aggregation import AggregationHeader, DatagramKind, Policy

HEADER = AggregationHeader(Policy.SWITCHML, DatagramKind.DATA, 7, 1, 0, 1, 3, 2)
LONG, SHORT = FRAMINGS["uc-long"], FRAMINGS["uc"]


def packets(sent: list[tuple[int, bytes]]) -> list[tuple[int, Packet]]:
    return [(port, packet) for port, frame in sent if (packet := decode_packet(frame)) is not None]


def all_results(bench: Bench, block: int) -> list[tuple[int, bytes]]:
    return [frame for rank in range(3) for frame in bench.give(rank, bench.frames(rank, block))]


def test_results_are_messages_to_each_workers_queue_pair() -> None:
    bench = Bench(SwitchMlProgram, framing=LONG)
    sent = all_results(bench, 5)
    assert [port for port, _ in sent] == [0, 0, 1, 1, 2, 2]
    assert all(icrc_is_valid(frame) for _, frame in sent)
    for port, packet in packets(sent):
        uc = bench.jobs[0].members[port].uc
        assert uc is not None
        assert packet.bth.dest_qpn == uc.qpn + 1
        assert packet.info.starts != packet.info.ends
        if packet.reth is not None:
            assert packet.reth.rkey == uc.rkey | 1
            assert (packet.reth.va, packet.reth.length) == (uc.va + 5 * 32, 8)
    assert [packet.imm.value for _, packet in packets(sent) if packet.imm] == [6] * 3


def test_each_queue_pair_counts_its_own_psns() -> None:
    """A replay to one worker takes numbers on its queue pair alone."""
    bench = Bench(SwitchMlProgram, framing=LONG)
    seen: dict[tuple[int, int], list[int]] = {}
    sent = all_results(bench, 0) + bench.give(1, bench.frames(1, 0)) + all_results(bench, 4) + all_results(bench, 1)
    for port, packet in packets(sent):
        seen.setdefault((port, packet.bth.dest_qpn), []).append(packet.bth.psn)
    first = 0xFFFFFC
    assert seen == {
        (0, 0x300): [first, first + 1, first + 2, first + 3],
        (1, 0x310): [first, first + 1, first + 2, first + 3, 0, 1],
        (2, 0x320): [first, first + 1, first + 2, first + 3],
        (0, 0x301): [first, first + 1],
        (1, 0x311): [first, first + 1],
        (2, 0x321): [first, first + 1],
    }


def test_part_of_a_message_is_no_contribution() -> None:
    bench = Bench(SwitchMlProgram, framing=LONG)
    bench.send(0, 0)
    bench.send(1, 0)
    first, last = bench.frames(2, 0)
    assert bench.give(2, first) == []
    assert bench.reasons == []
    again = bench.frames(2, 0)
    assert bench.give(2, [again[1]]) == []
    assert bench.reasons == ["gap"]
    assert bench.give(2, last) == []
    assert bench.reasons == ["gap", "gap"]
    assert bench.send(2, 0) == dict.fromkeys((0, 1, 2), bench.total(0))


def test_a_copy_of_a_packet_costs_the_message_and_counts_nothing() -> None:
    bench = Bench(SwitchMlProgram, framing=LONG)
    first, last = bench.frames(0, 0)
    assert bench.give(0, [first, first, last]) == []
    for rank in (1, 2):
        results = bench.send(rank, 0)
    assert results == dict.fromkeys((0, 1, 2), bench.total(0)), "the second FIRST began the message anew"
    twice = bench.frames(0, 4)
    bench.give(0, [twice[0], twice[1], twice[1]])
    assert bench.reasons == ["gap"]
    assert bench.send(1, 4) == {}
    assert bench.send(2, 4) == dict.fromkeys((0, 1, 2), bench.total(4))
    assert {counts for _, counts in bench.summed} == {(1, 1, 1)}


def test_whoever_speaks_on_anothers_queue_pair_is_not_heard() -> None:
    bench = Bench(SwitchMlProgram, framing=SHORT)
    (frame,) = bench.frames(0, 0)
    thief = replace(bench.jobs[0].members[1], uc=bench.jobs[0].members[0].uc)
    job = replace(bench.jobs[0], members=(bench.jobs[0].members[0], thief))
    (stolen,) = bench.hand(replace(job, job=99), 1).frames(HEADER, bytes(8), 0)
    assert bench.give(1, stolen) == []
    assert bench.reasons == ["unknown_qp"]
    assert bench.give(0, frame) == []
    assert bench.reasons == ["unknown_qp"]


def test_other_roce_traffic_passes() -> None:
    """To the service only UC is ours; between hosts all is theirs."""
    bench = Bench(SwitchMlProgram, framing=SHORT)
    (frame,) = bench.frames(0, 0)
    to_host = bench.jobs[0].members[2].mac + frame[6:30] + bench.jobs[0].members[2].ip + frame[34:]
    assert bench.give(0, to_host) == [(2, to_host)]
    assert bench.reasons == []
    assert bench.program.counters["bypassed"] == 1


def test_the_opcodes_are_those_of_writes_with_immediate() -> None:
    opcodes = {
        name: [packet.bth.opcode for _, packet in packets(all_results(Bench(SwitchMlProgram, framing=framing), 0))[:2]]
        for name, framing in (("long", LONG), ("short", SHORT))
    }
    assert opcodes == {
        "long": [Opcode.UC_WRITE_FIRST, Opcode.UC_WRITE_LAST_IMM],
        "short": [Opcode.UC_WRITE_ONLY_IMM] * 2,
    }


@pytest.mark.parametrize("module", [program, service, worker])
def test_the_protocol_does_not_know_its_framing(module: ModuleType) -> None:
    source = Path(__file__).resolve().parents[3] / f"{module.__name__.replace('.', '/')}.py"
    tree = ast.parse(source.read_text(encoding="utf-8"))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert [name for name in names if re.search(r"\buc\b|\buc_|Uc|(en|de)code_", name)] == []


def test_all_members_have_one_framing() -> None:
    mixed = over(SHORT, job_config(7)), job_config(8, first_member=3, first_slot=4)
    with pytest.raises(ScenarioError) as caught:
        SwitchMlProgram(switch_config(*mixed))
    assert str(caught.value) == (
        "scenario: jobs[0]: switch s1: job 7: framing; found queue pairs for some members only; allowed: UDP for all "
        "jobs of a switch, or UC "
        "for all"
    )
    with pytest.raises(InternalError, match="rank 0 has no queue pairs"):
        create_service(mixed)


@pytest.mark.parametrize(
    ("rank", "changes", "text"),
    [
        (
            1,
            {"service_qpn": 0x40_0003},
            "queue pairs of rank 1; found 0x400003 .. 0x400006; allowed: numbers of their own",
        ),
        (
            0,
            {"service_qpn": 1},
            "queue pairs of rank 0; found 0x1 .. 0x4; allowed: numbers of their own from 0x2 to 0xffffff",
        ),
        (0, {"service_qpn": 0xFFFFFE}, "queue pairs of rank 0; found 0xfffffe .. 0x1000001; allowed"),
        (2, {"rkey": 7}, "memory key of rank 2; found 0x7; allowed: an even one: its lowest bit is the version"),
    ],
)
def test_queue_pairs_that_cannot_be_are_refused(rank: int, changes: dict[str, int], text: str) -> None:
    job = over(SHORT, job_config())
    members = [
        replace(member, uc=replace(member.uc, **changes)) if member.rank == rank and member.uc else member
        for member in job.members
    ]
    with pytest.raises(ScenarioError) as caught:
        SwitchMlProgram(switch_config(replace(job, members=tuple(members))))
    assert text in str(caught.value)


def test_a_block_may_be_as_long_as_the_job_says() -> None:
    bench = Bench(SwitchMlProgram, framing=SHORT)
    longest = bench.jobs[0].elements
    for rank in range(3):
        bench.give(rank, bench.frames(rank, 0, [rank + 1] * longest))
    assert bench.reasons == []
    bench.give(0, bench.frames(0, 1, [1] * (longest + 1)))
    assert bench.reasons == ["invalid", "gap"], "its first packet, and the second"
    assert [block for block, _ in bench.summed] == [0]


def test_messages_may_be_longer_than_datagrams() -> None:
    def job(elements: int) -> SwitchMlProgram:
        return SwitchMlProgram(switch_config(replace(over(SHORT, job_config()), elements=elements)))

    job(4096)
    with pytest.raises(ScenarioError, match=r"elements of a block; found 4097; allowed: 2 \.\. 4096"):
        job(4097)
