import pytest

from switch_nodes.fpga.faults import (
    AgentDies,
    GarbageReads,
    ProgrammingFails,
    StopsPassing,
    WrongBitstream,
    WrongPsn,
    WrongSum,
    fault_words,
    parse_fault,
)
from workloads.errors import ScenarioError


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("wrong-bitstream", WrongBitstream()),
        ("programming-fails", ProgrammingFails(1)),
        ("programming-fails:3", ProgrammingFails(3)),
        ("agent-dies:12", AgentDies(12)),
        ("stops-passing:0", StopsPassing(0)),
        ("garbage-reads:5", GarbageReads(5)),
        ("noisy-reads", GarbageReads(noise=True)),
        ("noisy-reads:5", GarbageReads(5, noise=True)),
        ("wrong-sum:5", WrongSum(5)),
        ("wrong-psn", WrongPsn()),
    ],
)
def test_as_people_write_them(text, fault):
    assert parse_fault(text) == fault


@pytest.mark.parametrize("text", ["", "fire", "agent-dies:", "agent-dies:x", "agent-dies:-1", "wrong-bitstream:1"])
def test_what_is_no_fault(text):
    with pytest.raises(ScenarioError) as caught:
        parse_fault(text)
    assert str(caught.value) == (
        f"scenario: --fault: no such fault of a card; found {text!r}; allowed: wrong-bitstream, programming-fails:N, "
        "agent-dies:N, stops-passing:N, garbage-reads:N, noisy-reads:N, wrong-sum:N, wrong-psn:N"
    )


def test_every_word_is_one():
    assert all(parse_fault(word.replace(":N", ":1")) is not None for word in fault_words())
