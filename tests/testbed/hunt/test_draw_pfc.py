"""PFC around drawn schedules: valid, the same each time, and of all kinds."""

from __future__ import annotations

from random import Random

from testbed.hunt.draw import draw_schedule
from testbed.hunt.draw_pfc import PFC, with_pfc
from testbed.scenario import dump_scenario, parse_scenario

_SCHEDULES = 80


def test_schedules_are_valid_scenarios_with_pfc_and_all_its_kinds() -> None:
    drawn = [draw_schedule(3, number, kind=PFC).scenario for number in range(_SCHEDULES)]
    with_it = [each.pfc for each in drawn if each.pfc is not None]
    assert len(with_it) > 0.9 * _SCHEDULES
    assert {each.model for each in with_it} == {"static", "dynamic", "hpcc", "conweave"}
    assert {len(each.receivers) for each in with_it} == {1, 2}
    assert {each.lossless for each in with_it} == {(3,), (3, 4)}
    assert any("pause_storm" in dump_scenario(each) for each in drawn)
    for each in drawn[:20]:
        assert parse_scenario(dump_scenario(each), "drawn.yaml").pfc == each.pfc


def test_a_number_always_means_the_same_schedule() -> None:
    assert draw_schedule(1, 55, kind=PFC) == draw_schedule(1, 55, kind=PFC)
    assert draw_schedule(1, 55, kind=PFC) != draw_schedule(1, 56, kind=PFC)


def test_the_job_stays_that_of_the_rack() -> None:
    plain = draw_schedule(1, 7).scenario
    found = with_pfc(plain, Random(1))
    assert found is not None
    assert (found.job, found.switch, found.seed) == (plain.job, plain.switch, plain.seed)
    assert all(link.shape.jitter_ns == 0 for link in found.topology.links)
