import pytest

from switch_nodes.fpga.golden import play
from switch_nodes.fpga.program import create_card
from switch_nodes.fpga.regmap import Status
from switch_nodes.netreduce.program import NetReduceProgram
from tests.support.cards import card_config, job_trace
from tests.support.netreduce_harness import small_job
from workloads.errors import ScenarioError


@pytest.mark.parametrize("changes", [{}, {"ipv6": True}, {"size": 5}, {"verb": "send", "mtu": 512}])
def test_a_card_that_runs_what_the_configuration_says(changes):
    job = small_job(**changes)
    card = create_card(card_config(job))
    assert card.status == Status.PROGRAMMED | Status.CONFIGURED | Status.RUNNING
    assert card.next_event() is None
    assert play(card, job_trace(job)) == play(NetReduceProgram(job.config()), job_trace(job))


def test_configurations_that_cannot_be():
    with pytest.raises(ScenarioError, match="trace: a card has no registers for it"):
        create_card(card_config(trace=True))
