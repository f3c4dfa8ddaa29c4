"""The terms of headroom, and response times of the standard."""

import pytest

from switch_nodes.lossless.headroom import exact_headroom, response_bits, response_ns, two_way_headroom


@pytest.mark.parametrize(
    ("rate", "bits"),
    [
        (10**8, 512), (10**9, 1_024), (10**10, 30_720), (25 * 10**9, 40_960), (40 * 10**9, 60_416), (10**11, 201_728),
        (50 * 10**9, 201_728), (4 * 10**11, 463_360), (8 * 10**11, 463_360), (10**6, 512),
    ],
)  # fmt: skip
def test_response_times_of_the_standard(rate, bits):
    assert response_bits(rate) == bits
    assert (response_ns(rate) - 1) * rate < bits * 10**9 <= response_ns(rate) * rate


def test_exact_headroom_is_the_sum_of_its_terms():
    # 40 Gbit/s, 1 us each way: 5 B per ns. Three frames, the PFC frame, 2 us and the response time.
    assert exact_headroom(40 * 10**9, 1_000, 1_514, 1_511) == 3 * 1_514 + 60 + 5 * (2_000 + 1_511)


def test_rules_of_thumb_of_two_simulators():
    assert two_way_headroom(10**11, 1_000, 3, 0) == 37_500
    assert two_way_headroom(10**11, 1_000, 2, 2 * 1_048) == 27_096
