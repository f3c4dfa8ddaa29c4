from testbed.checkers.messages import MessageLayout, message_layout
from tests.support.judged import MESSAGES, SPANS, good_context


def test_layout_of_the_small_job():
    layout = message_layout(good_context())
    assert (layout.total, layout.per_iteration) == (5, 2)
    assert tuple(layout.packets(message) for message in range(5)) == MESSAGES
    assert [layout.span(part) for part in (0, 1)] == [(4 * a, 4 * b) for a, b in SPANS[1:3]]
    offsets = [message for message, packets in enumerate(MESSAGES) for _ in range(packets)]
    assert [layout.message_at(offset) for offset in range(len(offsets))] == offsets
    assert layout.name(0) == "message 0 (the hello)"
    assert layout.name(4) == "message 4 (iteration 1, part 2 of 2)"


def test_layout_without_hello():
    layout = MessageLayout(1152, 2, 3, 256, False)
    assert (layout.total, layout.place(0), layout.packets(1)) == (4, (0, 0), 2)
    assert [layout.message_at(offset) for offset in range(10)] == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]


def test_full_last_message_and_published_size():
    """170 packets of 1024 bytes carry 43,516 elements."""
    layout = MessageLayout(2 * 4 * 43516, 1, 170, 1024, True)
    assert (layout.per_iteration, layout.packets(2)) == (2, 170)
    assert layout.message_at(170) == 1
    assert layout.message_at(171) == 2
