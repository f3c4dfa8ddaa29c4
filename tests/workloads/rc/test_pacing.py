from workloads.rc.pacing import PacingGate

MS = 10**6
RATE = 8_000_000
"""a byte per microsecond"""


def sent(gate, wakes, size=1000, rate=RATE):
    """How many packets leave at each wake-up."""
    counts = []
    for now in wakes:
        count = 0
        while gate.is_open(now):
            gate.spend(size, rate, now)
            count += 1
        counts.append(count)
    return counts


def test_single_packets_leave_at_the_rate():
    gate = PacingGate(0)
    assert gate.spend(1000, RATE, 5 * MS) == 6 * MS
    assert not gate.is_open(6 * MS - 1)
    assert gate.is_open(6 * MS)
    assert gate.spend(500, RATE, 6 * MS) == 6 * MS + MS // 2


def test_a_burst_leaves_at_once_and_is_paid_for():
    gate = PacingGate(4 * MS)
    assert sent(gate, [0, 1 * MS, 3 * MS, 4 * MS, 8 * MS]) == [4, 0, 0, 4, 4]


def test_whoever_wakes_late_makes_up_for_one_burst_and_no_more():
    assert sum(sent(PacingGate(4 * MS), [0, 5 * MS, 10 * MS])) == 4 + 5 + 5
    assert sent(PacingGate(4 * MS), [0, 1000 * MS]) == [4, 8]


def test_parts_of_a_nanosecond_are_carried_over():
    gate, now = PacingGate(0), 0
    for _ in range(3000):
        now = gate.spend(1, 24_000_000, now) or now
    assert now == 1 * MS  # 3000 bytes at 3 bytes per microsecond; 333 ns each would be 999,000


def test_it_forgets():
    gate = PacingGate(0)
    gate.spend(1000, RATE, 0)
    gate.forget()
    assert gate.is_open(0)
