"""The table and the lines below it, of made-up runs."""

from __future__ import annotations

import pytest

from testbed.protocols.esa.bench_ina.analysis import MemoryCell
from testbed.protocols.esa.bench_ina.cases import ATP, ESA, ESA_ACK, ESA_EQUAL, SWITCHML
from testbed.protocols.esa.bench_ina.tables import crossing_lines, mix_lines, split_lines
from tests.support.ina_runs import grid, run
from tests.testbed.protocols.esa.bench_ina.test_bench import MIXES

pytestmark = pytest.mark.protocols("switchml")

_JCTS = {
    8: {SWITCHML: (0.5, 0.51), ATP: (0.18, 0.2), ESA: (0.12, 0.1), ESA_EQUAL: (0.13, 0.12), ESA_ACK: (0.17, 0.18)},
    960: {SWITCHML: (0.1, 0.1), ATP: (0.102, 0.102), ESA: (0.1, 0.1), ESA_EQUAL: (0.1, 0.1), ESA_ACK: (0.1, 0.1)},
}
_TABLE = """\
mix-2+2: vgg16 (0.25), vgg16 (0.25), resnet50 (4), resnet50 (4); 4 workers each; SW = 96 packets; medians of 2 seeds
    M   M/SW  slots  protocol         avg JCT  spread  x ATP  x SwitchML  p95 JCT   busy  useful  collided  evicted  resent    PS in
    8   0.08      8  atp               190 ms   10.5%      -        2.66   285 ms  84.0%    0.5%     6,251        0      36  7.22 MB
    8   0.08      8  esa               110 ms   18.2%   1.75        4.63   165 ms  50.0%   25.0%         0       12       0  0 bytes
    8   0.08      8  esa equal early   125 ms    8.0%   1.53        4.05   188 ms  50.0%   25.0%         0        0       0  0 bytes
    8   0.08      8  esa prio ack      175 ms    5.7%   1.08        2.89   262 ms  50.0%   25.0%         0        0       0  0 bytes
    8   0.08      4  switchml          505 ms    2.0%   0.38           -   758 ms  50.0%   25.0%         0        0       0  0 bytes

  960  10.00    960  atp               102 ms    0.0%      -        0.98   153 ms  84.0%    0.5%     6,251        0      36  7.22 MB
  960  10.00    960  esa               100 ms    0.0%   1.02        1.00   150 ms  50.0%   25.0%         0       12       0  0 bytes
  960  10.00    960  esa equal early   100 ms    0.0%   1.02        1.00   150 ms  50.0%   25.0%         0        0       0  0 bytes
  960  10.00    960  esa prio ack      100 ms    0.0%   1.02        1.00   150 ms  50.0%   25.0%         0        0       0  0 bytes
  960  10.00    480  switchml          100 ms    0.0%   1.02           -   150 ms  50.0%   25.0%         0        0       0  0 bytes
"""  # noqa: E501


@pytest.fixture
def found() -> dict[tuple[int, str], MemoryCell]:
    extra = {
        ATP: {"busy": 0.84, "useful": 0.005, "collisions": 6251, "resends": 36, "server_bytes": 7_220_000},
        ESA: {"evictions": 12},
    }
    return {
        (memory, subject): MemoryCell(memory, subject, tuple(run(jct, **extra.get(subject, {})) for jct in times))
        for memory, jcts in _JCTS.items()
        for subject, times in jcts.items()
    }


def test_the_table(found: dict[tuple[int, str], MemoryCell]) -> None:
    lines = mix_lines(found, MIXES["mix-2+2"], 160)
    assert "\n".join(lines) + "\n" == _TABLE


def test_where_orders_change(found: dict[tuple[int, str], MemoryCell]) -> None:
    assert list(crossing_lines(found, 96)) == [
        "atp and switchml: atp faster; from somewhere between M = 8 and 960 (0.08 and 10.00 SW) on switchml faster",
        "esa and switchml: esa faster; from somewhere between M = 8 and 960 (0.08 and 10.00 SW) on level",
        "esa and atp: esa faster at all sizes",
    ]


def test_near_sizes_tell_the_place() -> None:
    found = grid({ATP: [1.0, 1.0], SWITCHML: [2.0, 0.5], ESA: [0.1, 0.1]}, [8, 16])
    line = next(iter(crossing_lines(found, 96)))
    assert line == "atp and switchml: atp faster; from M = about 11 (0.12 SW; between 8 and 16) on switchml faster"


def test_subjects_that_are_level_everywhere() -> None:
    cells = grid({subject: [1.0, 1.0] for subject in (ATP, ESA, SWITCHML)}, [8, 9])
    assert next(iter(crossing_lines(cells, 96))) == "atp and switchml: level at all sizes"


def test_the_best_gain_stands_beside_the_papers(found: dict[tuple[int, str], MemoryCell]) -> None:
    assert list(split_lines(found, 96)) == [
        "best gain of ESA over ATP: 1.75x at M = 8 (0.08 SW); the paper says up to 1.35x, for its own setting",
        "  early release alone 1.53x, priorities alone 1.08x; of the gain 80% is early release's, 20% the priorities'",
    ]
