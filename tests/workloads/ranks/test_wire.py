"""Messages between a rank and the network."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.ranks.wire import (
    Agreed,
    Destroy,
    Done,
    Down,
    Failed,
    Group,
    Join,
    Leave,
    LineReader,
    Post,
    Step,
    Welcome,
    WireProblem,
    decode,
    encode,
)

NUMBERS, TEXTS = st.integers(-1, 1 << 40), st.text(max_size=20)
MESSAGES = st.one_of(
    st.builds(Join, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.builds(Post, NUMBERS, TEXTS, TEXTS, TEXTS, NUMBERS, st.booleans(), NUMBERS),
    st.builds(
        Post,
        NUMBERS,
        TEXTS,
        TEXTS,
        TEXTS,
        NUMBERS,
        st.booleans(),
        NUMBERS,
        TEXTS,
        TEXTS,
        NUMBERS,
        NUMBERS,
        NUMBERS,
        st.tuples(NUMBERS, NUMBERS),
        st.tuples(NUMBERS),
        st.floats(0, 1e6),
    ),
    st.builds(Group, NUMBERS, TEXTS, st.lists(NUMBERS).map(tuple), st.floats(0, 1e6)),
    st.builds(Destroy, NUMBERS, TEXTS),
    st.builds(Agreed, NUMBERS, TEXTS, NUMBERS, NUMBERS),
    st.builds(Step, NUMBERS),
    st.builds(Leave, TEXTS),
    st.builds(Down),
    st.builds(Welcome, NUMBERS, NUMBERS, st.floats(0, 1e6), TEXTS),
    st.builds(Done, NUMBERS, NUMBERS),
    st.builds(Failed, TEXTS),
)


@given(st.lists(MESSAGES, max_size=8), st.data())
def test_every_message_comes_out_as_it_went_in_however_the_stream_is_cut(messages, data):
    stream, reader, heard = b"".join(map(encode, messages)), LineReader(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        heard += reader.feed(stream[:size])
        stream = stream[size:]
    assert heard == messages


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b"[1]",
        b'{"kind":"shout"}',
        b'{"kind":"step"}',
        b'{"kind":"step","number":"1"}',
        b'{"kind":"step","number":true}',
        b'{"kind":"step","number":1,"more":2}',
        b'{"kind":["step"]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_message_is_refused(line):
    with pytest.raises(WireProblem):
        decode(line)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"kind":"step"}', "a step with the wrong fields (number: is missing): "),
        (b'{"kind":"step","number":"1"}', "a step with the wrong fields (number: not a whole number): "),
        (b'{"kind":"step","number":1,"more":2}', "a step with the wrong fields (more: unknown key): "),
    ],
)
def test_a_message_with_wrong_fields_says_which(line, told):
    with pytest.raises(WireProblem) as refused:
        decode(line)
    assert str(refused.value) == f"{told}{line!r}"


def test_a_line_without_an_end_is_not_kept_for_ever():
    reader = LineReader()
    for _ in range(16):
        assert reader.feed(b"x" * 65_536) == []
    with pytest.raises(WireProblem, match="a line of more than"):
        reader.feed(b"x")
