"""What cannot be in a configuration of a parameter server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from testbed.plan import make_plan
from testbed.scenario import load_scenario
from tests.support.left_out import without_missing
from workloads.config import ArithmeticSpec
from workloads.datagrams.problems import ConfigProblem
from workloads.server.checks import problems_in_server


def told(problems: Iterable[ConfigProblem]) -> list[str]:
    return [f"{problem.key}: {problem.found}; {problem.allowed}" for problem in problems]


def test_servers() -> None:
    (config,) = make_plan(load_scenario("atp", [], 1)).servers
    assert not list(problems_in_server(config))
    (job,) = config.jobs
    wrong = [
        (replace(job, kind="switchml"), "kind: switchml; atp, esa, grid, ps"),
        (replace(job, members=()), "members: 0; 1 .. 1024 workers, what bitmaps can name"),
        (replace(job, members=job.members[::-1]), "members: [3, 2, 1, 0]; in rank order, 0 .. 3"),
        (replace(job, arithmetic=ArithmeticSpec("max", "int32")), "arithmetic.op: max; sum"),
        (replace(job, elements=258), "elements: 258; an even number, 2 .. 256"),
        (replace(job, window=0), "window: 0; 1 .. 65536 packets"),
        (replace(job, memory=0), "memory: 0; 1 .. 65536 aggregators"),
    ]
    for each, text in wrong:
        assert told(problems_in_server(replace(config, jobs=(each,)))) == [f"jobs[0].{without_missing(text)}"]
    assert told(problems_in_server(replace(config, jobs=(job, job)))) == [f"jobs[1].job: {job.job}; an id of its own"]
