"""Workers over datagrams and parameter servers from files, and as processes of their own around a `tb switch`."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from switch_nodes.jobs import JobConfig
from switch_nodes.registry import create_program
from testbed.checkers.reference import expected_results
from testbed.cli import main, nodes
from testbed.cli.datagramnode import read_server_config, read_worker_config
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario
from tests.support.left_out import without_missing
from tests.support.namespace import own_namespace
from tests.support.nodes import ROOT, Node, events, plain
from workloads.errors import ScenarioError
from workloads.hosts import create_host


def plan_of(name: str) -> Plan:
    hosts = {"atp": 3, "esa": 3, "switchml": 2}[name]
    return make_plan(load_scenario(name, [f"topology.hosts={hosts}", "job.size=100kB", "job.iterations=2"], 1))


def write(path: Path, config: Any) -> Path:
    path.write_text(json.dumps(plain(config)), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["switchml", "switchml-uc", "atp", "esa", "grid", "ps"])
def test_what_a_plan_says_is_read_back(tmp_path: Path, name: str) -> None:
    plan = make_plan(load_scenario(name, [], 1))
    for worker in plan.workers:
        assert read_worker_config(write(tmp_path / "worker.json", worker)) == worker
    for server in plan.servers:
        assert read_server_config(write(tmp_path / "server.json", server)) == server


def test_the_files_of_the_documentation_reduce_a_job(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "switch-node.md").read_text(encoding="utf-8")
    first, server, switch = re.findall(r"```yaml\n(name: (?:h.*?|s1\nmemory.*?))```", text, re.DOTALL)
    second = first.replace("name: h1", "name: h2").replace("rank: 0", "rank: 1")
    second = second.replace("41:00:01", "41:00:02").replace("10.77.0.2", "10.77.0.3").replace("100000", "5000")
    files = {"h1": first.replace("100000", "5000"), "h2": second, "h3": server, "s1": switch}
    for name, content in files.items():
        (tmp_path / f"{name}.yaml").write_text(content, encoding="utf-8")
    workers: list[Any] = [create_host(read_worker_config(tmp_path / f"h{number}.yaml")) for number in (1, 2)]
    machines = [*workers, create_host(read_server_config(tmp_path / "h3.yaml"))]
    args = argparse.Namespace(program="atp", ports=["p1", "p2", "p3"], config=tmp_path / "s1.yaml")
    program = create_program(nodes._switch_config(args))
    now, told = 0, list[Any]()
    while now < 1_000_000_000 and not all(worker.finished or worker.failed for worker in workers):
        due = [timer for machine in machines if (timer := machine.get_timer()) is not None]
        now = min(due)
        for machine in machines:
            machine.handle_timer(now)
        moved = True
        while moved:
            moved = False
            for port, machine in enumerate(machines):
                for _, frame in machine.frames_to_send(now):
                    program.receive_frame(port, frame, now)
                    moved = True
            for port, frame in list(program.frames_to_send(now)):
                machines[port].receive_frame(0, bytes(frame), now)
    for machine in (*machines, program):
        while (event := machine.next_event()) is not None:
            told.append(event)
    assert [worker.finished for worker in workers] == [True, True]
    names = [type(event).__name__ for event in told]
    assert names.count("BlockSummed") == 2 * -(-5000 // 256)
    assert not {"DatagramResent", "ContributionIgnored", "FrameRejected"} & set(names), "nobody misunderstands anybody"
    digests = [event.sha256 for event in told if type(event).__name__ == "CollectiveCompleted"]
    assert (len(digests), len(set(digests))) == (4, 2)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"elements": 255}, "elements: cannot be; found 255; allowed: an even number, 2 .. 256"),
        ({"window": 0}, "window: cannot be; found 0; allowed: 1 .. 65536 packets"),
        ({"rto_ns": 9999}, "rto_ns: cannot be; found 9999; allowed: 10000 or more"),
        ({"name": ""}, "name: is empty; found ''; allowed: a name"),
        ({"collective": {"kind": "atp", "job": 0, "rank": 0, "size": 2}},
            "collective.job: cannot be; found 0; allowed: 1 .. 65535"),
        ({"collective": {"kind": "foo"}},
            "collective.kind: unknown value; found 'foo'; allowed: atp, binomial_tree, "),
        ({"memory": 0}, "memory: cannot be; found 0; allowed: 1 .. 65536 aggregators"),
        ({"priority": "first"}, "priority: unknown value; found 'first'; allowed: "),
        ({"windows": 1}, "windows: unknown key; allowed: name, collective, workload, envelope"),
        ({"collective": {"kind": "atp", "job": 1, "rank": 2, "size": 2}},
            "collective.rank: cannot be; found 2; allowed: 0 .. 1"),
        ({"collective": {"kind": "atp", "job": 1, "rank": 0, "size": 1025}},
            "collective.size: cannot be; found 1025; allowed: 1 .. 1024, what bitmaps can name"),
    ],
)  # fmt: skip
def test_mistakes_in_a_workers_file(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    path = tmp_path / "h1.json"
    path.write_text(json.dumps(plain(plan_of("atp").workers[0]) | change), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        read_worker_config(path)
    place, _, told = str(caught.value).partition(": ")
    assert place.split(":")[0] == str(path)
    assert told.startswith(text)


def test_every_mistake_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "h1.json"
    data = plain(plan_of("atp").workers[0]) | {"window": 0, "elements": 3}
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").splitlines()
    elements, window = (lines.index(f' "{key}": {data[key]},') + 1 for key in ("elements", "window"))
    with pytest.raises(ScenarioError) as caught:
        read_worker_config(path)
    assert str(caught.value).splitlines() == [
        f"{path}:{elements}: elements: cannot be; found 3; allowed: an even number, 2 .. 256",
        f"{path}:{window}: window: cannot be; found 0; allowed: 1 .. 65536 packets",
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"slots": 65}, "jobs[0]: switch s1: job 1: slot indices; found 0 .. 64; allowed: 1 or more, within 0 .. 63"),
        ({"window": 0}, "jobs[0]: switch s1: job 1: window; found 0; allowed: 1 .. 65536 packets"),
        ({"window": 65537}, "jobs[0]: switch s1: job 1: window; found 65537; allowed: 1 .. 65536 packets"),
        ({"job": 0}, "jobs[0]: switch s1: job 0: job id; found 0; allowed: 1 .. 65535"),
    ],
)
def test_mistakes_in_a_switchs_file_are_told_before_it_needs_anything(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, Any],
    text: str,
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    (switch,) = make_plan(load_scenario("atp", ["topology.hosts=3", "switch.memory=64"], 1)).switches
    data = plain(switch)
    del data["program"], data["ports"]
    data["jobs"][0] |= change
    path = tmp_path / "s1.json"
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert main(["switch", "--program", "atp", "--port=p0", "--port=p1", "--port=p2", "--config", str(path)]) == 64
    line = lines.index(' "jobs": [') + 2
    assert capsys.readouterr().err == f"tb: {path}:{line}: {text}\n"


@pytest.mark.parametrize("name", ["atp", "switchml", "grid", "rack"])
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"elements": 0}, "workload.elements: cannot be; found 0; allowed: 1 .. 1073741824"),
        ({"elements": (1 << 30) + 1}, "workload.elements: cannot be; found 1073741825; allowed: 1 .. 1073741824"),
        ({"iterations": 0}, "workload.iterations: cannot be; found 0; allowed: 1 .. 1000000"),
        ({"iterations": 10**6 + 1}, "workload.iterations: cannot be; found 1000001; allowed: 1 .. 1000000"),
    ],
)
def test_mistakes_in_the_workload_of_any_worker(tmp_path: Path, name: str, change: dict[str, Any], text: str) -> None:
    data = plain(make_plan(load_scenario(name, [], 1)).workers[0])
    data["workload"] |= change
    path = tmp_path / "h1.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        read_worker_config(path)
    assert str(caught.value).partition(": ")[2] == text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"kind": "switchml"}, "jobs[0].kind: cannot be; found switchml; allowed: atp, esa, grid, ps"),
        ({"members": []}, "jobs[0].members: cannot be; found 0; allowed: 1 .. 1024 workers, what bitmaps can name"),
        ({"window": 0}, "jobs[0].window: cannot be; found 0; allowed: 1 .. 65536 packets"),
        ({"rto_ns": 0}, "jobs[0].rto_ns: cannot be; found 0; allowed: 10000 or more"),
        ({"cached_windows": 1}, "jobs[0].cached_windows: cannot be; found 1; allowed: 2 .. 64"),
        ({"cached_windows": 65}, "jobs[0].cached_windows: cannot be; found 65; allowed: 2 .. 64"),
        ({"job": 0}, "jobs[0].job: cannot be; found 0; allowed: 1 .. 65535"),
        (
            {"members": [{"rank": rank, "mac": "02:00:00:00:00:01", "ip": "10.0.0.1"} for rank in range(2)]},
            "jobs[0].members[1].ip: cannot be; found 10.0.0.1; allowed: an address of its own",
        ),
    ],
)
def test_mistakes_in_a_servers_file(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    (server,) = plan_of("atp").servers
    path = write(tmp_path / "h3.json", dataclasses.replace(server, jobs=(dataclasses.replace(server.jobs[0]),)))
    data = json.loads(path.read_text(encoding="utf-8"))
    data["jobs"][0] |= change
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        read_server_config(path)
    assert str(caught.value) == f"{path}:1: {without_missing(text)}"


@pytest.mark.parametrize(
    ("program", "line", "text"),
    [
        ("atp", "knobs: {preempt: false}", ("knobs.preempt: program atp does not use it; allowed: omit it; the "
                                           "program uses reclaim")),
        ("netreduce", "memory: 8", ("memory: program netreduce does not use it; allowed: omit it; the program uses "
                                    "rings, "
                                   "release, gate")),
        ("forward", "release: asap", "release: program forward does not use it; allowed: omit it"),
    ],
)  # fmt: skip
def test_what_a_switch_does_not_heed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str, line: str, text: str
) -> None:
    path = tmp_path / "s1.yaml"
    path.write_text(f"name: s1\n{line}\n", encoding="utf-8")
    assert main(["switch", "--program", program, "--port", "p0", "--config", str(path)]) == 64
    assert capsys.readouterr().err == f"tb: {path}:2: {text}\n"


def test_all_that_a_switch_does_not_heed_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s1.yaml"
    path.write_text("name: s1\nmemory: 8\nrelease: asap\nknobs: {free: ack, preempt: false}\n", encoding="utf-8")
    assert main(["switch", "--program", "forward", "--port", "p0", "--config", str(path)]) == 64
    lines = [(2, "memory"), (3, "release"), (4, "knobs")]
    text = "program forward does not use it; allowed: omit it"
    assert capsys.readouterr().err == "".join(f"tb: {path}:{line}: {key}: {text}\n" for line, key in lines)


def test_two_jobs_of_a_server_have_two_ids(tmp_path: Path) -> None:
    (server,) = plan_of("atp").servers
    path = write(tmp_path / "h3.json", dataclasses.replace(server, jobs=server.jobs * 2))
    with pytest.raises(ScenarioError) as caught:
        read_server_config(path)
    assert str(caught.value) == f"{path}:1: jobs[1].job: cannot be; found 1; allowed: an id of its own"


def test_no_rdma_device_talks_in_datagrams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "h1.json", plan_of("atp").workers[0])
    assert main(["worker", "--config", str(path), "--device", "rxe0", "--exchange", str(tmp_path)]) == 64
    assert "tb worker: --device: a worker of atp talks in datagrams" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["atp", "esa", "switchml"])
def test_a_job_may_leave_a_running_switch(tmp_path: Path, name: str) -> None:
    hosts = 4 if name == "switchml" else 5
    plan = make_plan(load_scenario(name, [f"topology.hosts={hosts}", "job.copies=2"], 1))
    (switch,) = plan.switches
    path = tmp_path / "s1.json"
    ports = [f"p{number}" for number in range(switch.ports)]
    args = argparse.Namespace(program=name, ports=ports, config=path)

    def name_jobs(jobs: tuple[JobConfig, ...], **changes: object) -> None:
        config = plain(dataclasses.replace(switch, jobs=jobs)) | changes
        del config["program"], config["ports"]
        path.write_text(json.dumps(config), encoding="utf-8")

    name_jobs(switch.jobs)
    config = nodes._switch_config(args)
    program = create_program(config)

    def reload() -> str:
        told = nodes._reload(program, config, args)
        return "" if told is None else told.problem  # type: ignore[attr-defined]

    name_jobs(switch.jobs[1:])
    assert reload() == ""
    told = []
    while (event := program.next_event()) is not None:
        told.append(event)
    assert [(type(event).__name__, event.job) for event in told] == [("MemoryAtEnd", 1)]  # type: ignore[attr-defined]
    assert reload() == ""
    assert program.next_event() is None, "it has left already"
    name_jobs(switch.jobs)
    assert reload() == f"{path}: jobs: jobs may only leave while the switch runs", "nor come back"
    name_jobs((dataclasses.replace(switch.jobs[1], slots=1),))
    assert reload() == f"{path}: jobs: jobs may only leave while the switch runs"
    name_jobs(switch.jobs[1:], memory=switch.memory + 1)
    assert reload() == f"{path}: memory: only jobs may change while the switch runs"


@pytest.mark.root
@pytest.mark.parametrize("name", ["switchml", "atp", "esa"])
def test_workers_a_server_and_a_switch_reduce_a_job(tmp_path: Path, name: str) -> None:
    plan = plan_of(name)
    hosts = [*plan.workers, *plan.servers]
    (switch,) = plan.switches
    config = plain(switch)
    del config["program"], config["ports"]
    (tmp_path / "s1.json").write_text(json.dumps(config), encoding="utf-8")
    ports = [word for number in range(len(hosts)) for word in ("--port", f"port{number}")]
    words = ["switch", "--program", switch.program, *ports, "--config", str(tmp_path / "s1.json")]
    nodes: list[Node] = []
    with own_namespace() as namespace:
        for number in range(len(hosts)):
            namespace.veth(f"host{number}", f"port{number}")
        try:
            nodes.append(Node(tmp_path, "s1", *words))
            nodes[0].await_event("SwitchStarted")
            for number, server in enumerate(plan.servers, len(plan.workers)):
                path = write(tmp_path / f"{server.name}.json", server)
                nodes.append(Node(tmp_path, server.name, "server", "--config", str(path), "--port", f"host{number}"))
                assert nodes[-1].await_event("ServerStarted")["jobs"] == [1]
            for number, worker in enumerate(plan.workers):
                words = ["--config", str(write(tmp_path / f"{worker.name}.json", worker)), "--port", f"host{number}"]
                nodes.append(Node(tmp_path, worker.name, "worker", *words, "--linger", "500ms"))
            told = [node.ended(within_s=100) for node in nodes[-len(plan.workers) :]]
            ends = [node.stop() for node in nodes[: -len(plan.workers)]]
        finally:
            for node in nodes:
                node.kill()
    wanted = [[hashlib.sha256(result.tobytes()).hexdigest() for result in each] for each in expected_results(plan)]
    for rank, output in enumerate(told):
        digests = {record["iteration"]: record["sha256"] for record in events(output, "CollectiveCompleted")}
        assert digests == {iteration: results[rank] for iteration, results in enumerate(wanted)}
    assert [record["open"] for record in events(ends[0], "MemoryAtEnd")] == [0]
    if plan.servers:
        assert [record["open"] for record in events(ends[1], "ServerStatistics")] == [0]
