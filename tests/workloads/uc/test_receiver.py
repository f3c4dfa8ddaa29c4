"""The UC responder: every pair of its table reached by packets, and the rules in the head of the table one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from workloads.rc.diagram import mermaid
from workloads.rc.inbound import Inbound
from workloads.uc import UcError, UcReceiver, UcWrite
from workloads.uc.receiver_table import RECEIVER_TABLE, UcAction, UcEvent, UcState
from workloads.wire import OPCODES, Envelope, Opcode, Reth

ENVELOPE = Envelope(bytes(6), bytes(6), bytes(4), bytes(4))
DOCS = Path(__file__).resolve().parents[3] / "docs" / "roce.md"
MTU = 8
FIRST, MIDDLE, LAST, LAST_IMM, ONLY, ONLY_IMM = (
    Opcode.UC_WRITE_FIRST, Opcode.UC_WRITE_MIDDLE, Opcode.UC_WRITE_LAST, Opcode.UC_WRITE_LAST_IMM, Opcode.UC_WRITE_ONLY,
    Opcode.UC_WRITE_ONLY_IMM,
)  # fmt: skip


def packet(opcode: Opcode, psn: int, payload: bytes = bytes(MTU), length: int = 0) -> Inbound:
    info = OPCODES[opcode]
    reth = Reth(0x1000, 0x77, length or len(payload)) if "reth" in info.extensions else None
    imm = 0xABCD if info.has_imm else None
    return Inbound(b"", ENVELOPE, 0, opcode, 1, psn, False, payload, reth, imm, None)


def new() -> UcReceiver:
    return UcReceiver(MTU, 100)


def take(receiver: UcReceiver, *packets: Inbound) -> list[UcWrite | str]:
    """Messages, and the reasons of drops."""
    found: list[UcWrite | str] = []
    for one in packets:
        try:
            write = receiver.take(one)
        except UcError as error:
            found.append(error.reason)
        else:
            found += [write] if write is not None else []
    return found


def whole(psn: int, fill: bytes = b"abcdefgh", end: bytes = b"xyz!") -> list[Inbound]:
    length = 2 * len(fill) + len(end)
    return [packet(FIRST, psn, fill, length), packet(MIDDLE, psn + 1, fill), packet(LAST_IMM, psn + 2, end)]


WHOLE = UcWrite(0x1000, 0x77, 0xABCD, b"abcdefghabcdefghxyz!")


def test_messages_come_out_whole() -> None:
    receiver = new()
    assert take(receiver, *whole(5)) == [WHOLE]
    assert take(receiver, packet(ONLY_IMM, 8, b"1234")) == [UcWrite(0x1000, 0x77, 0xABCD, b"1234")]
    assert take(receiver, packet(ONLY, 9, b"")) == [UcWrite(0x1000, 0x77, None, b"")]
    assert take(receiver, packet(FIRST, 10, length=9), packet(LAST, 11, b"9")) == [
        UcWrite(0x1000, 0x77, None, bytes(MTU) + b"9")
    ]


def test_what_is_kept_is_not_the_senders_memory() -> None:
    receiver, memory = new(), bytearray(MTU)
    take(receiver, packet(FIRST, 0, memoryview(memory), 16))  # type: ignore[arg-type]
    memory[0] = 1
    assert take(receiver, packet(LAST, 1)) == [UcWrite(0x1000, 0x77, None, bytes(16))]


def test_psns_wrap() -> None:
    one, two, three = whole(0xFFFFFE)
    assert take(new(), one, two, three._replace(psn=0)) == [WHOLE]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_message_with_a_hole_is_dropped_and_the_next_one_taken(missing: int) -> None:
    receiver, packets = new(), whole(5)
    del packets[missing]
    found = take(receiver, *packets)
    assert found == {0: ["gap", "gap"], 1: ["gap"], 2: []}[missing]
    assert take(receiver, *whole(8)) == [WHOLE]


def test_a_packet_that_comes_late_saves_nothing() -> None:
    one, two, three = whole(5)
    assert take(new(), one, three, two, three) == ["gap", "gap", "gap"]


def test_a_copy_of_a_packet_inside_breaks_its_message() -> None:
    one, two, three = whole(5)
    assert take(new(), one, two, two, three) == ["gap", "gap"]


def test_a_copy_of_a_whole_message_is_a_message() -> None:
    """What UC cannot see."""
    assert take(new(), *whole(5), *whole(5)) == [WHOLE, WHOLE]
    only = packet(ONLY, 9)
    assert len(take(new(), only, only)) == 2


def test_a_message_that_begins_ends_another() -> None:
    one, two, _ = whole(5)
    assert take(new(), one, two, *whole(9)) == [WHOLE]
    assert take(new(), one, packet(ONLY, 6, b"1234"), two) == [UcWrite(0x1000, 0x77, None, b"1234"), "gap"]


@pytest.mark.parametrize(
    "packets",
    [
        [packet(FIRST, 0, bytes(MTU - 1), 20)],
        [packet(FIRST, 0, length=MTU)],
        [packet(FIRST, 0, length=101)],
        [packet(ONLY, 0, bytes(4), 8)],
        [packet(ONLY, 0, bytes(MTU + 1))],
        [packet(FIRST, 0, length=20), packet(MIDDLE, 1, bytes(MTU - 4))],
        [packet(FIRST, 0, length=16), packet(MIDDLE, 1)],
        [packet(FIRST, 0, length=20), packet(LAST, 1, bytes(4))],
        [packet(FIRST, 0, length=12), packet(LAST, 1, bytes(5))],
        [packet(Opcode.UC_SEND_ONLY, 0)],
    ],
)
def test_lengths_that_contradict_each_other(packets: list[Inbound]) -> None:
    receiver = new()
    assert take(receiver, *packets) == ["invalid"]
    assert receiver.state is UcState.DROPPING
    assert take(receiver, packet(LAST, 2), *whole(5)) == ["gap", WHOLE]


def _in(state: UcState) -> UcReceiver:
    receiver = new()
    receiver.expected = 3
    take(receiver, *{
        UcState.EXPECT_FIRST: [], UcState.IN_MESSAGE: [packet(FIRST, 2, length=24)],
        UcState.DROPPING: [packet(LAST, 9)],
    }[state])  # fmt: skip
    assert (receiver.state, receiver.expected) == (state, 3)
    return receiver


@pytest.mark.parametrize("state", UcState)
@pytest.mark.parametrize("event", UcEvent)
def test_every_pair_of_the_table_is_reached_and_done(state: UcState, event: UcEvent) -> None:
    after, actions = RECEIVER_TABLE[state, event]
    receiver = _in(state)
    if event is UcEvent.LAST and state is UcState.IN_MESSAGE:
        take(receiver, packet(MIDDLE, 3))
    psn = receiver.expected
    found = take(receiver, {
        UcEvent.FIRST: packet(FIRST, 50, length=16), UcEvent.ONLY: packet(ONLY, 50),
        UcEvent.MIDDLE: packet(MIDDLE, psn),
        UcEvent.LAST: packet(LAST, psn), UcEvent.GAP: packet(MIDDLE, psn + 1),
        UcEvent.INVALID: packet(Opcode.UC_SEND_ONLY, psn),
    }[event])  # fmt: skip
    assert receiver.state is after
    assert [isinstance(one, UcWrite) for one in found if not isinstance(one, str)] == [True] * (
        UcAction.DELIVER in actions
    )
    assert any(isinstance(one, str) for one in found) == (UcAction.DROP in actions)


def test_the_table_is_total_and_the_documentation_shows_it() -> None:
    assert len(RECEIVER_TABLE) == len(UcState) * len(UcEvent)
    assert f"```mermaid\n{mermaid(RECEIVER_TABLE)}\n```\n" in DOCS.read_text(encoding="utf-8")
