"""What a job has in use, by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.occupancy import Occupancy


def test_slot_times_add_up_until_the_last_packet_that_was_needed():
    used = Occupancy()
    used.occupy(2, 10)
    used.occupy(-1, 30)
    used.touch(50)
    used.occupy(-1, 90)
    assert (used.occupied, used.peak) == (0, 2)
    assert used.busy_ns == 2 * 20 + 1 * 20, "what lies there after the last packet that was needed keeps nothing busy"


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 5), st.booleans()), max_size=30))
def test_it_is_the_area_below_the_number_in_use(steps):
    used, now, area, busy, most = Occupancy(), 0, 0, 0, 0
    for wait, amount, needed in steps:
        area += wait * used.occupied
        now += wait
        if needed:
            used.touch(now)
            busy = area
        used.occupy(amount - used.occupied, now)
        most = max(most, amount)
    assert (used.busy_ns, used.peak) == (busy, most)
