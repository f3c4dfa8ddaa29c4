"""Traces from file to verdict, in both worlds and by the command line."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from testbed.cli import main
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from testbed.scenario.dump import dump_scenario
from testbed.scenario.loader import parse_scenario
from testbed.train.planning import TrainingSource
from tests.support.left_out import without_missing
from tests.support.passing import assert_passes
from tests.support.selection import in_both_worlds
from tests.support.traces import COLLECTIVES, node, write_trace
from workloads.errors import ScenarioError

GOAL = """num_ranks 4
rank 0 { a: calc 1000000 b: send 40000b to 1 b requires a recv 8b from -1 tag -1 }
rank 1 { x: recv 40000b from 0 s: send 8b to 0 s requires x }
rank 2 { calc 500 }
"""


@pytest.fixture
def goal(tmp_path: Path) -> Path:
    path = tmp_path / "t.goal"
    path.write_text(GOAL)
    return path


def chakra(folder: Path, ranks: int = 4) -> str:
    calls = [node(number, kind, comm_size=40_000, root=1) for number, kind in enumerate(COLLECTIVES)]
    return write_trace(
        folder,
        [
            [*calls, node(20, "compute", us=300), node(21, "send", (20,), comm_size=9_000, comm_dst=(rank + 1) % ranks),
             node(22, "recv", comm_size=9_000, comm_src=(rank - 1) % ranks)]
            for rank in range(ranks)
        ],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("all_reduce", "world"),
    in_both_worlds([("netreduce",), ("ring",), ("binomial_tree",)], emulated=[("netreduce",), ("ring",)]),
)
def test_all_collectives_at_once(all_reduce: str, world: str, tmp_path: Path) -> None:
    changes = [f"job.workload={chakra(tmp_path / 't')}", f"job.protocol={all_reduce}", "job.iterations=2"]
    if all_reduce != "netreduce":
        changes.append("switch.program=forward")
    document = run_scenario(load_scenario("rack-lossy", changes, world=world), tmp_path / "run").document
    assert_passes(document)


@pytest.mark.parametrize(
    ("scenario", "world"),
    in_both_worlds(
        [("switchml-lossy",), ("switchml-uc-lossy",), ("atp-lossy",), ("esa-lossy",), ("ps-lossy",), ("grid-lossy",)],
        emulated=[("switchml-lossy",), ("switchml-uc-lossy",), ("atp-lossy",), ("esa-lossy",), ("ps-lossy",)],
    ),
)
@pytest.mark.protocols("ring")
def test_sums_in_datagrams(scenario: str, world: str, tmp_path: Path) -> None:
    plain = load_scenario(scenario)
    ranks = len(plain.topology.hosts) - bool(plain.job.server)
    changes = [f"job.workload={chakra(tmp_path / 't', ranks)}", "job.iterations=2"]
    loaded = load_scenario(scenario, changes, world=world)
    assert loaded.job.protocol == plain.job.protocol
    document = run_scenario(loaded, tmp_path / "run").document
    assert_passes(document)
    assert document["metrics"]["busbw_bps"] is None
    if world == "simulated":
        trace = document["metrics"]["trace"]
        assert trace["exposed_s"] > 0
        assert len(trace["each"]) == ranks


def test_the_command_line(goal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, lanes = tmp_path / "run", tmp_path / "lanes.json"
    words = ["run", "rack", "--world", "simulated", "--workload", str(goal), "--set", "job.iterations=1"]
    assert main([*words, "--out", str(run)]) == 0
    out = capsys.readouterr().out
    assert "exposed communication: up to " in out
    assert "critical path: 1.00 ms of computing and " in out
    metrics = json.loads((run / "result.json").read_text())["metrics"]["trace"]
    assert [each["name"] for each in metrics["each"]] == ["h1", "h2", "h3", "h4"]
    assert metrics["each"][0]["computing_s"] == pytest.approx(1e-3)
    assert [each["name"] for each in metrics["critical_path"]["nodes"]] == ["a", "x", "s"]
    assert main(["timeline", str(run), "--format", "perfetto", "--out", str(lanes)]) == 0
    events = json.loads(lanes.read_text())["traceEvents"]
    threads = {each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert {"h1, computing", "h1, communication", "h2, communication", "h3, computing"} <= threads
    (calc,) = [each for each in events if each.get("name") == "compute a" and each["ph"] == "X"]
    assert (calc["ts"], calc["dur"]) == (0, 1000)
    assert main(["timeline", str(run)]) == 0
    assert main(["timeline", str(run), "--format", "svg", "--out", str(tmp_path / "lanes.svg")]) == 0
    assert main(["replay", str(run), "--out", str(tmp_path / "again")]) == 0


def test_a_workload_that_is_a_file_makes_the_job_a_trace(goal: Path) -> None:
    scenario = load_scenario("rack", [f"job.workload={goal}", "job.protocol=ring"])
    assert (scenario.job.protocol, scenario.job.own.all_reduce) == ("trace_file", "ring")
    assert scenario.job.size_bytes == 40_000
    again = parse_scenario(dump_scenario(scenario), "again.yaml")
    assert (again.job, again.topology) == (scenario.job, scenario.topology)


@pytest.mark.parametrize("protocol", ["switchml", "ps"])
def test_a_collective_that_runs_files_stays_the_job_s(goal: Path, protocol: str) -> None:
    ranks = 4 + (protocol == "ps")
    scenario = load_scenario(protocol, [f"job.workload={goal}", f"topology.hosts={ranks}", "job.divide=2"])
    assert (scenario.job.protocol, scenario.job.runs) == (protocol, "trace_file")
    assert (scenario.job.file.workload, scenario.job.size_bytes) == (str(goal), 20_000)
    assert (scenario.job.own is None) == (protocol == "switchml")
    again = parse_scenario(dump_scenario(scenario), "again.yaml")
    assert (again.job, again.topology) == (scenario.job, scenario.topology)


def test_the_command_line_with_datagrams(goal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    words = ["run", "switchml", "--world", "simulated", "--workload", str(goal), "--set", "job.iterations=1"]
    assert main([*words, "--out", str(run)]) == 0
    assert "critical path: 1.00 ms of computing and " in capsys.readouterr().out
    assert main(["timeline", str(run), "--format", "perfetto", "--out", str(tmp_path / "lanes.json")]) == 0
    events = json.loads((tmp_path / "lanes.json").read_text())["traceEvents"]
    threads = {each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert {"h1, computing", "h1, communication", "h2, communication", "h3, computing"} <= threads
    assert main(["replay", str(run), "--out", str(tmp_path / "again")]) == 0


def test_a_path_is_found_from_the_folder_of_its_file(goal: Path) -> None:
    text = "name: a\nworld: simulated\ntopology: {kind: rack, hosts: 4}\njob: {workload: ./t.goal}\n"
    assert parse_scenario(text, "a.yaml", folder=goal.parent).job.own.workload == str(goal)


def refusal(*changes: str, scenario: str = "rack") -> str:
    with pytest.raises(ScenarioError) as error:
        load_scenario(scenario, changes, world="simulated")
    return str(error.value)


def test_there_is_a_host_for_each_rank(goal: Path) -> None:
    text = refusal(f"job.workload={goal}", "topology.hosts=3")
    assert "job.workload: the trace has 4 ranks; found 3 hosts; allowed: 4 hosts: topology.hosts, or job.hosts" in text


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            ["job.protocol=dlcp"],
            "job.protocol: dlcp runs no workload that is a file; found 'dlcp'; allowed: atp, esa, grid, ps, switchml",
        ),
        (["job.all_reduce=switchml"], "job.all_reduce: unknown value"),
        (["job.all_reduce=netreduce", "switch.program=forward"], "job.all_reduce: program forward sums nothing"),
        (["transport.recovery=irn"], "transport.recovery: switches sum for a trace with go-back-N alone; found 'irn'"),
        (["job.dtype=int32sat"], "job.dtype: "),
        (["job.divide=0"], "job.divide: out of range"),
        (["job.trace_groups=/nowhere.json"], "/nowhere.json: cannot be read"),
    ],
)
@pytest.mark.protocols("ring")
def test_what_is_refused(changes: list[str], text: str, tmp_path: Path) -> None:
    assert without_missing(text) in refusal(f"job.workload={chakra(tmp_path)}", *changes)


@pytest.mark.parametrize(
    ("scenario", "changes", "text"),
    [
        ("switchml", ["topology.hosts=5"], "job.workload: the trace has 4 ranks; found 5 hosts; allowed: 4 hosts"),
        ("atp", ["topology.hosts=4"], "job.workload: the trace has 4 ranks; found 3 hosts; allowed: 4 hosts"),
        ("switchml", ["job.copies=2"], "job.copies: a trace has the network for itself; found 2; allowed: 1"),
        ("strategy-esa", [], "jobs: a trace has the network for itself; found 3 jobs; allowed: omit `jobs`"),
        ("switchml", ["job.compute={ratio: 1}"], "job.compute: a trace has its own computing"),
        ("switchml", ["job.operation=reduce"], "job.operation: a trace says what ranks do; found reduce"),
        ("switchml", ["job.in_place=true"], "job.in_place: each operation of a trace has a part of its own"),
        ("ps", ["job.streaming=false", "job.dtype=int32"], "job.streaming: a server that does not stream knows one"),
        ("atp", ["job.dtype=int32sat"], "job.dtype: partial sums of a ring would clamp early"),
        ("switchml", ["job.all_reduce=ring"], "job.all_reduce: unknown key"),
        ("switchml", ["job.divide=0"], "job.divide: out of range"),
        ("mixed-atp-rabenseifner", [], "job.workload: a workload that is a file has the network for itself"),
    ],
)
@pytest.mark.protocols("ring")
def test_what_is_refused_next_to_sums_in_datagrams(
    scenario: str, changes: list[str], text: str, tmp_path: Path
) -> None:
    assert text in refusal(f"job.workload={chakra(tmp_path)}", *changes, scenario=scenario)


def test_no_models(goal: Path) -> None:
    text = "name: a\nworld: simulated\ntopology: {kind: rack, hosts: 4}\nswitch: {program: switchml}\n"
    text += "job: {protocol: switchml, workload: ./t.goal, model: alexnet}\n"
    with pytest.raises(ScenarioError, match=r"job.model: a trace has its own sizes; found a model, or layers"):
        parse_scenario(text, "a.yaml", folder=goal.parent)


@pytest.mark.protocols("ring")
def test_no_packets_that_roce_does_not_know(tmp_path: Path) -> None:
    changes = (
        f"job.workload={chakra(tmp_path, 8)}",
        "transport.path_mtu=8192",
        "topology.link={rate: 20Mbps, mtu: 9000}",
    )
    text = "transport.path_mtu: a trace also has RoCE connections, which have no such MTU; found 8192"
    assert text in refusal(*changes, scenario="grid")


@pytest.mark.protocols("ring")
def test_a_trace_is_neither_hunted_nor_trained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = f"job.workload={chakra(tmp_path / 't')}"
    assert main(["hunt", "switchml", "--set", work, "--out", str(tmp_path / "hunt")]) == 64
    assert "job.workload: cannot be hunted in: its messages do not follow from the scenario" in capsys.readouterr().err
    with pytest.raises(ScenarioError, match="a training cannot use this; found a file"):
        TrainingSource("switchml", (work,)).load()


def test_a_trace_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "bad.goal"
    path.write_text("num_ranks 4\nrank 0 { calc x }\n")
    assert "bad.goal:2: not what GOAL has here; found x" in refusal(f"job.workload={path}")
    assert "no such file or folder" in refusal("job.workload=./nothing.goal")
    (tmp_path / "empty").mkdir()
    assert "not one .et file for each rank; found none" in refusal(f"job.workload={tmp_path}/empty")
    write_trace(tmp_path / "gap", {0: [node(0, "compute")], 2: [node(0, "compute")]})
    assert "not one .et file for each rank; found ranks 0, 2" in refusal(f"job.workload={tmp_path}/gap")


def test_sums_of_some_ranks_over_several_switches(tmp_path: Path) -> None:
    folder = write_trace(tmp_path / "t", _some(8))
    (tmp_path / "groups.json").write_text('{"1": [0, 1]}')
    groups = f"job.trace_groups={tmp_path}/groups.json"
    text = refusal(f"job.workload={folder}", groups, "topology.hosts_per_leaf=2", scenario="spine-leaf")
    assert "several switches sum over all ranks of a job only; found an all-reduce of ranks 0, 1" in text
    changes = [f"job.workload={folder}", groups, "job.protocol=ring", "topology.hosts_per_leaf=2"]
    assert load_scenario("spine-leaf", changes).job.own.all_reduce == "ring"


def _some(ranks: int) -> list[list[Any]]:
    """Ranks 0 and 1 sum, and the others compute."""
    call = node(0, "all_reduce", comm_size=8, pg_name="1")
    return [[call] if rank < 2 else [node(0, "compute", us=1)] for rank in range(ranks)]


def test_the_step_of_a_training(oracles: Path, tmp_path: Path) -> None:
    with tarfile.open(oracles / "workloads/chakra/feeder.tar.gz") as archive:
        member = archive.extractfile(archive.getmembers()[0])
        assert member is not None
        (tmp_path / "feeder.et").write_bytes(member.read())
    work = f"job.workload={tmp_path}/feeder.et"
    assert "the trace of one rank does not say how large the job is" in refusal(work)
    assert "rank 0, node 435" in refusal(work, "job.trace_ranks=4")
    changes = [work, "job.trace_ranks=4", "job.trace_root=0", "job.divide=1000", "job.iterations=1"]
    document = run_scenario(load_scenario("rack", changes, world="simulated"), tmp_path / "run").document
    assert_passes(document)
