from __future__ import annotations

from workloads.verbs.counters import read_counters


def test_every_counter_but_the_kernels_own_clock(tmp_path):
    for name, text in (("sent_pkts", "41\n"), ("rcvd_pkts", "7\n"), ("lifespan", "10\n")):
        (tmp_path / name).write_text(text)
    assert read_counters(tmp_path) == {"sent_pkts": 41, "rcvd_pkts": 7}


def test_a_port_that_counts_nothing(tmp_path):
    assert read_counters(tmp_path / "hw_counters") == {}
