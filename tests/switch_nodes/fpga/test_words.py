import pytest

from switch_nodes.fpga.errors import CardError
from switch_nodes.fpga.regmap import PAGE_BYTES
from switch_nodes.fpga.words import bursts
from tests.support.cards import CardBench


@pytest.mark.parametrize(
    ("words", "most", "runs"),
    [
        ({}, 64, []),
        ({8: 1, 0: 2, 4: 3}, 64, [(0, [2, 3, 1])]),
        ({0: 1, 8: 2, 12: 3}, 64, [(0, [1]), (8, [2, 3])]),
        ({0: 1, 4: 2, 8: 3}, 8, [(0, [1, 2]), (8, [3])]),
    ],
)
def test_words_side_by_side_go_together(words, most, runs):
    assert list(bursts(words, most)) == runs


def test_long_bursts_are_cut_to_what_the_way_carries():
    bench = CardBench(2)
    assert bench.bus.max_bytes < PAGE_BYTES
    words = list(range(PAGE_BYTES // 4))
    bench.driver.words.write("LOAD_BUFFER", *words)
    assert list(bench.driver.words.read("LOAD_BUFFER")) == words


def test_accesses_that_a_transport_refuses_are_told_as_its_fault():
    bench = CardBench(2)
    bench.bus.max_bytes = 6
    with pytest.raises(CardError, match=r"register LOAD_BUFFER\[0\]: the card does not answer"):
        bench.driver.words.write("LOAD_BUFFER", 1, 2, 3)
