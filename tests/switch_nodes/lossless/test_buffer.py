"""Ingress accounting, by hand and under random packets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.lossless.buffer import FIXED, PortLimits, SharedBuffer

KEY, OTHER = (0, 3), (1, 3)


def buffer(shared=10_000, resume=1_000, **limits):
    given_limits = {"headroom": 3_000, "threshold": 2_500, **limits}
    return SharedBuffer(shared, {KEY: PortLimits(**given_limits), OTHER: PortLimits(**given_limits)}, resume)


def test_the_packet_that_crosses_the_threshold_is_in_the_headroom_and_pauses():
    found = buffer()
    account = found.accounts[KEY]
    for used, headroom, pauses in ((1000, 0, False), (2000, 0, False), (2000, 1000, True), (2000, 2000, True)):
        assert found.admit(account, 1000) == 0
        assert (account.used, account.headroom_used, found.should_pause(account)) == (used, headroom, pauses)
    assert found.admit(account, 1000) == 0
    assert found.admit(account, 1001) == 1001
    assert (account.total, account.most_headroom, found.shared_used) == (5000, 3000, 2000)


def test_a_charge_at_the_threshold_pauses_without_headroom():
    found = buffer(threshold=2000)
    account = found.accounts[KEY]
    found.admit(account, 1000)
    assert not found.should_pause(account)
    found.admit(account, 1000)
    assert found.should_pause(account)
    assert account.headroom_used == 0


def test_it_goes_on_when_the_headroom_is_empty_and_enough_is_free_below_the_threshold():
    found = buffer()
    account = found.accounts[KEY]
    for _ in range(4):
        found.admit(account, 1000)
    account.is_paused = True
    goes_on = []
    for _ in range(4):
        found.release(account, 1000)
        goes_on.append(found.should_resume(account))
    assert goes_on == [False, False, True, True]


def test_the_reserve_counts_towards_no_threshold():
    found = buffer(reserve=2_000)
    account = found.accounts[KEY]
    for _ in range(4):
        found.admit(account, 1000)
    assert (account.used, account.shared_used, found.shared_used, account.headroom_used) == (4000, 2000, 2000, 0)
    found.release(account, 3000)
    assert (account.used, found.shared_used) == (1000, 0)


def test_a_dynamic_threshold_is_a_share_of_what_is_free():
    found = buffer(share_num=1, share_den=2)
    account = found.accounts[KEY]
    assert found.threshold(account) == 5000
    for _ in range(3):
        found.admit(account, 1000)
    assert found.threshold(account) == 3500
    assert not found.should_pause(account)
    found.admit(account, 1000)  # 4,000 of 10,000: half of the rest is 3,000
    assert (account.headroom_used, found.should_pause(account)) == (1000, True)
    assert found.threshold(found.accounts[OTHER]) == 3500


def test_it_does_not_go_on_while_headroom_is_in_use_however_much_is_free():
    found = buffer(share_num=1, share_den=2)
    account, other = found.accounts[KEY], found.accounts[OTHER]
    for each, count in ((other, 4), (account, 3)):
        for _ in range(count):
            found.admit(each, 1000)
    account.is_paused = True
    assert (account.used, account.headroom_used) == (2000, 1000)
    found.release(other, 4000)
    assert found.threshold(account) == 4000
    assert not found.should_resume(account)
    found.release(account, 1000)
    assert found.should_resume(account)


def test_a_fixed_threshold_never_promises_more_than_is_free():
    found = buffer(shared=3_000)
    found.admit(found.accounts[KEY], 2_000)
    assert found.threshold(found.accounts[OTHER]) == 1_000


def test_a_lossy_class_drops_above_the_threshold_and_pauses_nobody():
    found = buffer(headroom=0, is_lossless=False)
    account = found.accounts[KEY]
    assert [found.admit(account, 1000) for _ in range(3)] == [0, 0, 1000]
    assert not found.should_pause(account)


@pytest.mark.parametrize(("num", "den"), [(FIXED, 1), (1, 8), (1, 1), (2, 1)])
@given(data=st.data())
def test_no_byte_is_lost_or_counted_twice(num, den, data):
    reserve = data.draw(st.sampled_from([0, 700]))
    found = buffer(share_num=num, share_den=den, reserve=reserve)
    held = {key: [] for key in found.accounts}
    for _ in range(data.draw(st.integers(1, 60))):
        key = data.draw(st.sampled_from(sorted(held)))
        account = found.accounts[key]
        if held[key] and data.draw(st.booleans()):
            found.release(account, held[key].pop(data.draw(st.integers(0, len(held[key]) - 1))))
        else:
            size = data.draw(st.integers(64, 1500))
            before = account.total
            if found.admit(account, size) == 0:
                held[key].append(size)
            else:
                assert account.total == before
                assert account.headroom_used + size > account.limits.headroom
        for each, packets in held.items():
            assert found.accounts[each].total == sum(packets)
            assert 0 <= found.accounts[each].headroom_used <= found.accounts[each].limits.headroom
        assert found.shared_used == sum(account.shared_used for account in found.accounts.values()) <= 10_000
