"""What is excused when a node is killed: the jobs that it has to do with, and no other."""

from __future__ import annotations

from dataclasses import replace

from switch_nodes.switchml import SwitchMlProgram
from testbed.faults.model import Drop, Kill, Match, Window
from testbed.hunt.draw import draw_schedule
from testbed.hunt.judge import CRASH, CheckFailure, Machines, run_and_judge
from testbed.hunt.survival_datagrams import must_end_ns
from testbed.scenario.model import SwitchOptions
from tests.support.hunt_mutants import PLANTED
from tests.support.switchml_mutants import NoReplay
from tests.testbed.hunt.test_survival_datagrams import calm
from topologies import Direction
from workloads.events import WorkerFinished


def with_a_job_killed(create=SwitchMlProgram):
    """h1 and h2 have a job and h1 dies, h3 loses the first result of the other job."""
    lost = Drop("d", ("h3-s1",), (Direction.DOWN,), match=Match(attempt=1))
    scenario = calm(Kill("k", "h1", Window(1)), lost)
    limit = must_end_ns(scenario)
    assert limit is not None
    return run_and_judge(replace(scenario, time_limit_ns=limit), Machines(create=create))


def test_a_job_whose_worker_is_dead_may_hang():
    failure, history = with_a_job_killed()
    assert failure is None
    assert {record.node for record in history if isinstance(record.event, WorkerFinished)} == {"h3", "h4"}


def test_a_job_beside_it_may_not():
    failure, _ = with_a_job_killed(NoReplay)
    assert failure is not None
    assert failure.check == "liveness"


def test_what_a_program_of_the_users_own_raises_is_told_with_its_place(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        "import sys\nfrom switch_nodes.switchml import SwitchMlProgram\n\nclass Own(SwitchMlProgram):\n"
        "    def receive_frame(self, port, frame, now):\n        sys.exit(0)\n"
    )
    scenario = replace(calm(), switch=SwitchOptions(program=f"{file}:Own", memory=64), time_limit_ns=10**9)
    failure, history = run_and_judge(scenario)
    assert (failure, history) == (CheckFailure(CRASH, "SystemExit: 0 (own.py:6 in receive_frame)"), [])


def test_traced_schedules_are_watched():
    schedule = draw_schedule(1, 0)
    assert schedule.scenario.trace
    failure, _ = run_and_judge(schedule.scenario, PLANTED["msn_off_by_one"])
    assert failure is not None
    assert failure.check == "msn_counts_messages"
    assert run_and_judge(schedule.scenario)[0] is None
    assert run_and_judge(replace(schedule.scenario, trace=False), PLANTED["msn_off_by_one"])[0] is None
