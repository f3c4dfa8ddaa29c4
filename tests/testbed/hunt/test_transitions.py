"""Steps by name, and the automata themselves on the steps that are said to be impossible."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from switch_nodes.netreduce.tables import LEAF_SLOT_TABLE
from testbed.hunt.coverage import Coverage
from testbed.hunt.draw import draw_schedule
from testbed.hunt.draw_fabric import FABRIC
from testbed.hunt.judge import run_and_judge
from testbed.hunt.transitions import (
    FABRIC_IMPOSSIBLE,
    FABRIC_TRANSITIONS,
    IMPOSSIBLE,
    TRANSITIONS,
    step_of,
    steps_of_kind,
)
from tests.support.roce_frames import envelope
from workloads.config import QpConfig
from workloads.rc.endpoint import RcEndpoint
from workloads.transports.messages import ReceiveRequest, SendRequest
from workloads.wire import Aeth, Bth, ImmDt, Opcode, Packet, Reth, encode_packet


def test_the_tables_hold_each_step_once_and_reasons_are_about_them():
    assert len(set(TRANSITIONS)) == len(TRANSITIONS) == 65 + 50 + 8 + 16 + 23
    assert set(IMPOSSIBLE) <= set(TRANSITIONS)
    assert len(set(FABRIC_TRANSITIONS)) == len(FABRIC_TRANSITIONS) == len(TRANSITIONS) + len(LEAF_SLOT_TABLE)
    assert set(FABRIC_IMPOSSIBLE) <= set(FABRIC_TRANSITIONS)
    assert {step.split()[0] for step in IMPOSSIBLE} <= {"requester", "responder"}


def test_traced_runs_take_steps_of_the_tables_only():
    coverage = Coverage()
    for number in range(0, 400, 8):
        scenario = draw_schedule(3, number).scenario
        _, history = run_and_judge(scenario)
        coverage.add(scenario, history)
        for record in history:
            step = step_of(record)
            assert step is None or step in TRANSITIONS
    assert coverage.traced == 50
    assert not set(IMPOSSIBLE) & set(coverage.transitions)
    assert sum(step in coverage.transitions for step in TRANSITIONS) > 60


def test_traced_runs_over_fabrics_take_steps_of_leaves_too():
    coverage = Coverage()
    for number in range(0, 160, 8):
        scenario = draw_schedule(3, number, kind=FABRIC).scenario
        _, history = run_and_judge(scenario)
        coverage.add(scenario, history)
    assert coverage.traced == 20
    assert set(coverage.transitions) <= set(FABRIC_TRANSITIONS) - set(FABRIC_IMPOSSIBLE)
    assert sum(step.startswith("leaf_slot ") for step in coverage.transitions) > 10


@pytest.mark.parametrize("program", ["atp", "esa", "grid", "ps"])
def test_impossible_steps_of_datagram_protocols_are_steps_and_are_not_taken(program):
    steps, impossible = steps_of_kind(program)
    assert set(impossible) < set(steps)
    coverage = Coverage()
    for number in range(0, 160, 8):
        scenario = draw_schedule(3, number, None, program, program).scenario
        _, history = run_and_judge(scenario)
        coverage.add(scenario, history)
    assert coverage.traced == 20
    assert not set(impossible) & set(coverage.transitions)
    assert set(coverage.transitions) <= set(steps)
    assert len(coverage.transitions) > 12


@pytest.mark.parametrize("seed", range(4))
def test_no_input_takes_a_queue_pair_to_an_impossible_step(seed):
    """A QP gets whatever can be made of opcodes, PSNs near its own, syndromes and keys, at any time: a random walk."""
    draw, taken = Random(seed), set()
    here = envelope(1, 2)
    there = type(here)(here.dst_mac, here.src_mac, here.dst_ip, here.src_ip)
    syndromes = (0x1F, 0x60, 0x61, 0x62, 0x21)
    for _ in range(120):
        endpoint = RcEndpoint()
        retries, rnr = draw.choice((0, 1, 7)), draw.choice((0, 1, 7))
        endpoint.add_qp(
            QpConfig(
                qpn=5, peer_qpn=6, envelope=here, first_psn=100, peer_first_psn=200, path_mtu=256, timeout_code=4,
                retry_count=retries, rnr_retry=rnr, trace=True,
            )
        )  # fmt: skip
        memory = memoryview(bytearray(4096))
        endpoint.register_memory(9, 0, memory)
        now, expected, sent = 0, 200, 100
        for number in itertools.count():
            now += draw.choice((1, 1000, 100_000))
            act = draw.random()
            if act < 0.15:
                endpoint.post_send(5, SendRequest(number, (bytes(draw.choice((4, 600))),)), now)
            elif act < 0.25:
                endpoint.post_receive(5, ReceiveRequest(number, memory))
            elif act < 0.35:
                endpoint.handle_timer(now)
            elif act < 0.65:
                psn = draw.randrange(sent - 3, sent + 8)
                bth = Bth(Opcode.ACKNOWLEDGE, 5, psn)
                frame = encode_packet(Packet(there, bth, aeth=Aeth(draw.choice(syndromes), 0)))
                endpoint.receive_frame(0, frame, now)
            else:
                opcode = draw.choice(
                    (Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE, Opcode.WRITE_LAST_IMM, Opcode.SEND_FIRST,
                     Opcode.SEND_LAST, Opcode.SEND_ONLY, Opcode.READ_REQUEST)
                )  # fmt: skip
                writes = opcode in (Opcode.WRITE_FIRST, Opcode.READ_REQUEST)
                packet = Packet(
                    there, Bth(opcode, 5, expected + draw.choice((0, 0, 0, 0, -1, 1))),
                    b"" if opcode == Opcode.READ_REQUEST else bytes(draw.choice((256, 256, 4))),
                    reth=Reth(0, draw.choice((9, 9, 8)), 600) if writes else None,
                    imm=ImmDt(1) if opcode == Opcode.WRITE_LAST_IMM else None,
                )  # fmt: skip
                endpoint.receive_frame(0, encode_packet(packet), now)
            sent += len(list(endpoint.frames_to_send(now)))
            while (event := endpoint.next_event()) is not None:
                if (step := step_of(event)) is not None:
                    taken.add(step)
                    expected = event.psn if event.side == "responder" else expected
            if number == 40:
                break
    assert not set(IMPOSSIBLE) & taken
    assert "requester error/ack_stale" in taken
    assert "responder error/only" in taken
    assert len(taken) > 50
