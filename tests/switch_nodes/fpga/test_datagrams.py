import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from switch_nodes.fpga.card import EmulatedCard
from switch_nodes.fpga.datagrams import MAX_BYTES, Operation, RegisterServer, decode_answer, encode_request
from switch_nodes.fpga.faults import AgentDies
from switch_nodes.fpga.registers import doubled
from switch_nodes.fpga.regmap import MAGIC, REGISTERS, Command

SIZE, CHECK = REGISTERS["LOAD_SIZE"].address, REGISTERS["STAGED_CHECK"].address
LABEL = REGISTERS["LABEL"].address


def request(operation, address, size, data=b"", sequence=1, session=9):
    return encode_request(operation, session, sequence, address, size, data)


def ask(server, asked):
    answer = server.handle(asked, 0)
    return None if answer is None else decode_answer(answer, asked)


def test_reads_and_writes():
    server = RegisterServer(EmulatedCard(2))
    assert ask(server, request(Operation.READ, 0, 8)) == MAGIC.to_bytes(4, "little") + bytes((2, 0, 1, 0))
    assert ask(server, request(Operation.WRITE, SIZE, 4, b"\x01\x02\x00\x00", 2)) == b""
    assert ask(server, request(Operation.READ, SIZE, 4, b"", 3)) == b"\x01\x02\x00\x00"


def test_the_same_request_is_answered_again_and_not_done_again():
    card = EmulatedCard(2)
    server = RegisterServer(card)
    write = request(Operation.WRITE, LABEL, 4, bytes(4))
    first = server.handle(write, 0)
    check = card.registers.staged_check
    assert server.handle(write, 0) == first
    assert card.registers.staged_check == check
    server.handle(request(Operation.WRITE, LABEL, 4, bytes(4), 2), 0)
    assert card.registers.staged_check != check


def test_sessions_are_apart():
    card = EmulatedCard(2)
    server = RegisterServer(card)
    for session in (1, 2):
        server.handle(request(Operation.WRITE, LABEL, 4, bytes(4), 1, session), 0)
    twice = card.registers.staged_check
    alone = EmulatedCard(2)
    alone.write(LABEL, bytes(4), 0)
    assert twice != alone.registers.staged_check


@pytest.mark.parametrize(
    "asked",
    [
        request(Operation.READ, 2, 4), request(Operation.READ, 0, 3), request(Operation.READ, 0, 0),
        request(Operation.READ, 0xFFFFFFFC, 8), request(Operation.WRITE, 0xFFFFFFF8, 12, bytes(12)),
        request(Operation.READ, 0, MAX_BYTES + 4), request(Operation.WRITE, 0, 8, bytes(4)),
        request(Operation.READ, 0, 4, bytes(4)),
    ],
)  # fmt: skip
def test_what_is_refused(asked):
    answer = RegisterServer(EmulatedCard(2)).handle(asked, 0)
    with pytest.raises(ValueError, match="refuses the access"):
        decode_answer(answer, asked)


def test_answers_to_others_are_not_ours():
    server = RegisterServer(EmulatedCard(2))
    asked = request(Operation.READ, 0, 4)
    answer = server.handle(asked, 0)
    assert decode_answer(answer, request(Operation.READ, 0, 4, b"", 2)) is None
    assert decode_answer(answer[:-1], asked) is None
    assert decode_answer(answer[:10], asked) is None
    assert decode_answer(asked + bytes(4), asked) is None


def test_a_dead_agent_answers_nothing_not_even_again():
    server = RegisterServer(EmulatedCard(2, faults=[AgentDies(1)]))
    asked = request(Operation.READ, 0, 4)
    assert server.handle(asked, 0) is not None
    assert server.handle(asked, 0) is None
    assert server.handle(request(Operation.READ, 0, 4, b"", 2), 0) is None


@given(st.binary(max_size=60))
def test_rubbish_is_not_answered(data):
    assert RegisterServer(EmulatedCard(2)).handle(data, 0) is None or data.startswith(b"INAR")


def test_only_so_many_sessions_are_remembered():
    server = RegisterServer(EmulatedCard(2))
    for session in range(1000):
        server.handle(request(Operation.READ, 0, 4, b"", 1, session), 0)
    assert len(server._answered) == 64


COMMANDS = [doubled(int(command)) for command in Command]
ADDRESSES = st.one_of(
    st.sampled_from([register.address for register in REGISTERS]),
    st.sampled_from([0xFFFFFFFC, 0xFFFFFFF8, 0x80000000, 0x7FFFFFFC]),
    st.integers(0, (1 << 32) - 1),
)
WORDS = st.one_of(st.sampled_from([0, 1, 0xFFFFFFFF, 0x80000000, *COMMANDS]), st.integers(0, (1 << 32) - 1))
REQUESTS = st.one_of(
    st.tuples(st.just(REGISTERS["CONTROL"].address), st.sampled_from(COMMANDS).map(lambda word: [word])),
    st.tuples(ADDRESSES, st.lists(WORDS, min_size=1, max_size=4)),
    st.tuples(ADDRESSES, st.integers(1, MAX_BYTES // 4)),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(REQUESTS, max_size=30))
def test_whatever_is_asked_is_answered(asked):
    """Any access to any address, in any order: the agent answers, and the card goes on."""
    card = EmulatedCard(2)
    server = RegisterServer(card)
    for sequence, (address, what) in enumerate(asked):
        if isinstance(what, int):
            sent = request(Operation.READ, address, 4 * what, b"", sequence)
        else:
            data = b"".join(word.to_bytes(4, "little") for word in what)
            sent = request(Operation.WRITE, address, len(data), data, sequence)
        answer = server.handle(sent, sequence)
        assert answer is not None
        with contextlib.suppress(ValueError):  # refused
            assert decode_answer(answer, sent) is not None
        while card.next_event() is not None:
            pass
    assert ask(server, request(Operation.READ, 0, 4, b"", len(asked))) == MAGIC.to_bytes(4, "little")
