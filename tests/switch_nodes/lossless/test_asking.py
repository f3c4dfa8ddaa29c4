"""PFC frames of one buffer: asked for, asked for again, taken back, and never in vain; also under random packets."""

from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.lossless.asking import Asking
from switch_nodes.lossless.buffer import PortLimits, SharedBuffer

KEY, OTHER = (0, 3), (1, 3)


class Port:
    """Frames that left, and reminders that are to come, in order."""

    def __init__(self, **limits):
        chosen = {"headroom": 3_000, "threshold": 2_500, **limits}
        self.buffer = SharedBuffer(10_000, {KEY: PortLimits(**chosen), OTHER: PortLimits(**chosen)}, 1_000)
        self.sent, self.reminders = [], []
        self.asking = Asking(
            self.buffer, 99, lambda key, quanta: self.sent.append((key, quanta)), self.reminders.append
        )

    def add(self, key, size):
        account = self.buffer.accounts[key]
        missing = self.buffer.admit(account, size)
        self.asking.after_adding(account)
        return not missing

    def drop(self, key, size):
        self.buffer.release(self.buffer.accounts[key], size)
        self.asking.after_release()

    def remind(self):
        return self.asking.is_due(self.reminders.pop(0))


def test_a_pause_is_asked_for_once_again_and_taken_back():
    port = Port()
    for _ in range(4):
        port.add(KEY, 1000)
    assert port.sent == [(KEY, 99)]
    assert port.remind()
    assert port.sent == [(KEY, 99)] * 2
    for _ in range(4):
        port.drop(KEY, 1000)
    assert port.sent == [(KEY, 99)] * 2 + [(KEY, 0)]
    assert not port.remind()
    assert port.reminders == []
    assert port.asking.sent == {KEY: 2, OTHER: 0}


def test_a_pause_that_begins_again_has_one_reminder_at_a_time():
    port = Port()
    for _ in range(2):
        for _ in range(3):
            port.add(KEY, 1000)
        for _ in range(3):
            port.drop(KEY, 1000)
    for _ in range(3):
        port.add(KEY, 1000)
    assert [quanta for _, quanta in port.sent] == [99, 0, 99, 0, 99]
    assert [port.remind() for _ in range(3)] == [False, False, True]
    assert [quanta for _, quanta in port.sent] == [99, 0, 99, 0, 99, 99]
    assert len(port.reminders) == 1


@given(st.data(), st.sampled_from([{}, {"share_num": 1, "share_den": 2}]))
def test_what_the_neighbour_heard_last_is_what_the_buffer_wants(data, limits):
    port, held = Port(**limits), {KEY: [], OTHER: []}
    for _ in range(data.draw(st.integers(1, 80))):
        key = data.draw(st.sampled_from([KEY, OTHER]))
        what = data.draw(st.sampled_from(["add", "add", "drop", "remind"]))
        if what == "add":
            size = data.draw(st.integers(64, 1500))
            if port.add(key, size):
                held[key].append(size)
        elif what == "drop" and held[key]:
            port.drop(key, held[key].pop())
        elif what == "remind" and port.reminders:
            port.remind()
        for each, account in port.buffer.accounts.items():
            last = next((quanta for name, quanta in reversed(port.sent) if name == each), 0)
            assert (last > 0) is account.is_paused
            if account.headroom_used:
                assert account.is_paused
            if account.is_paused:
                assert each in port.reminders
                assert not port.buffer.should_resume(account)
    for each, sizes in held.items():
        for size in sizes:
            port.drop(each, size)
    assert not any(account.is_paused for account in port.buffer.accounts.values())
