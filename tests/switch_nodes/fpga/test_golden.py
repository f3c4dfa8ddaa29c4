import pytest

from switch_nodes.fpga.golden import Difference, Kind, Output, compare, describe, play, reference_outputs, sums_in
from switch_nodes.fpga.program import create_card
from switch_nodes.netreduce.program import NetReduceProgram
from tests.support.cards import (
    BITS,
    WRONG_BYTE,
    WRONG_MASK,
    CardBench,
    WrongPsn,
    card_config,
    job_trace,
    one_bit_wrong,
)
from tests.support.netreduce_harness import small_job

JOB = small_job()
TRACE = job_trace(JOB)
EXPECTED = reference_outputs(card_config(), TRACE)


def out(step, port, text):
    return Output(step, port, text.encode())


def card_running(program):
    bench = CardBench(3, programs={"netreduce": program})
    bench.driver.bring_up(BITS, card_config())
    return bench.card


def test_the_emulated_card_is_golden():
    assert compare(EXPECTED, play(create_card(card_config()), TRACE)) is None
    assert sums_in(EXPECTED, TRACE) == len(EXPECTED) - 1 - 3  # a forwarded answer, and the hello, which has no elements


def test_a_trace_of_bypassed_frames_has_no_sums():
    trace = TRACE[-1:]
    assert sums_in(reference_outputs(card_config(), trace), trace) == 0


def test_one_wrong_bit_in_an_adder_is_shown_to_the_element():
    found = play(card_running(one_bit_wrong(6)), TRACE)  # message 1, offset 2
    difference = compare(EXPECTED, found)
    assert difference.kind is Kind.DIFFERS
    element = WRONG_BYTE // 4
    assert [(field.name, field.bits) for field in difference.fields][:1] == [
        (f"element[{element}]", f"{WRONG_MASK:#x}")
    ]
    assert len(difference.fields) == 2  # and the iCRC
    assert TRACE[difference.step].frame == JOB.frame(2, 1, 2)  # the last contribution to that sum
    text = "\n".join(describe(difference, TRACE))
    assert f"element[{element}]: expected 0x" in text
    assert f"(bits {WRONG_MASK:#x})" in text
    assert "iCRC: expected 0x" in text


def test_a_wrong_psn_is_shown():
    difference = compare(EXPECTED, play(card_running(WrongPsn), TRACE))
    assert [field.name for field in difference.fields] == ["BTH.psn", "iCRC"]
    assert describe(difference, TRACE) == [
        "frame 0 out of port 2 differs",
        f"  after input 2 (port 2): WRITE_ONLY_IMM 10.0.0.3 -> 10.0.0.1 QPN 0x102 PSN {JOB.psn(2, 0, 0):#x}",
        f"  expected: WRITE_ONLY_IMM 10.0.0.2 -> 10.0.0.3 QPN 0x101 PSN {JOB.psn(1, 0, 0):#x}",
        (
            f"  BTH.psn: expected {JOB.psn(1, 0, 0):#x}, found {JOB.psn(1, 0, 0) + 1:#x} (bits "
            f"{JOB.psn(1, 0, 0) ^ (JOB.psn(1, 0, 0) + 1):#x})"
        ),
        *[line for line in describe(difference, TRACE) if line.startswith("  iCRC: expected 0x")],
    ]


@pytest.mark.parametrize(
    ("found", "first"),
    [
        ([out(0, 0, "a"), out(1, 1, "b"), out(1, 0, "c"), out(2, 0, "d")], None),
        ([out(0, 0, "a"), out(1, 0, "c"), out(2, 0, "d"), out(2, 1, "b")], None),
        ([out(0, 0, "a"), out(1, 1, "x"), out(1, 0, "c"), out(2, 0, "d")], (Kind.DIFFERS, 1, 0, 1, b"b", b"x")),
        ([out(0, 0, "a"), out(1, 0, "c"), out(2, 0, "d")], (Kind.MISSING, 1, 0, 1, b"b", b"")),
        ([out(0, 0, "a"), out(1, 1, "b"), out(2, 0, "d")], (Kind.MISSING, 0, 1, 1, b"c", b"")),
        ([out(0, 0, "a"), out(1, 1, "b"), out(1, 0, "c"), out(1, 0, "c"), out(2, 0, "d")],
            (Kind.EXTRA, 0, 2, 1, b"", b"c")),
        ([out(0, 0, "a"), out(1, 1, "b"), out(1, 0, "c"), out(2, 0, "d"), out(9, 2, "e")],
            (Kind.EXTRA, 2, 0, 9, b"", b"e")),
        ([out(0, 0, "y"), out(1, 1, "x"), out(1, 0, "c"), out(2, 0, "d")], (Kind.DIFFERS, 0, 0, 0, b"a", b"y")),
        ([], (Kind.MISSING, 0, 0, 0, b"a", b"")),
    ],
)  # fmt: skip
def test_the_first_difference_is_that_of_the_earliest_input(found, first):
    expected = [out(0, 0, "a"), out(1, 1, "b"), out(1, 0, "c"), out(2, 0, "d")]
    assert compare(expected, found) == (None if first is None else Difference(*first))


def test_missing_and_surplus_frames_are_shown_whole():
    for found, kind in ((EXPECTED[1:], "is missing"), ([EXPECTED[0], *EXPECTED], "should not be there")):
        lines = describe(compare(EXPECTED, found), TRACE)
        assert lines[0] == f"frame {0 if kind == 'is missing' else 1} out of port 1 {kind}"
        assert any("BTH.opcode" in line or "and " in line for line in lines)
        assert any(line.startswith("  it is: WRITE_ONLY_IMM") for line in lines)


def test_times_of_the_trace_reach_the_machine():
    class Clocked(NetReduceProgram):
        def __init__(self):
            super().__init__(JOB.config())
            self.seen, self.due = [], 1500

        def get_timer(self):
            return self.due

        def handle_timer(self, now):
            self.seen.append(("timer", now))
            self.due = None

        def receive_frame(self, port, frame, now):
            self.seen.append((port, now))

    machine = Clocked()
    play(machine, TRACE[:7])
    assert machine.seen == [(0, 0), (1, 0), (2, 0), (0, 1000), (1, 1000), (2, 1000), ("timer", 1500), (0, 2000)]
