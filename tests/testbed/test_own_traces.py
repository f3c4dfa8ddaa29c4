"""Traces over a protocol of the user's own that is one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.plan import make_plan
from testbed.protocols.trace_file.plan_datagrams import sums_of
from testbed.scenario import load_scenario
from tests.support.emulated import needs_root
from tests.support.guide import OTHERWISE, own_protocol
from tests.support.left_out import without_missing
from tests.support.traces import COLLECTIVES, node, write_trace
from workloads.errors import ScenarioError
from workloads.traces.program import trace_in

OTHERS = """
NO_FILES = otherwise(BF16, runs_files=lambda: False)
UNSURE = otherwise(BF16, runs_files=lambda: "yes")
UNLIKE = otherwise(BF16, like="dlcp")


class Bare:
    def __init__(self, worker):
        self._worker = worker

    def __getattr__(self, name):
        if name == "mesh":
            raise AttributeError(name)
        return getattr(self._worker, name)


def bare_plan(scenario):
    found = plan(scenario)
    return replace(found, workers=tuple(map(Bare, found.workers)))


BARE = otherwise(BF16, plan=bare_plan)


class OlderConfig(SwitchMlConfig):
    runs = f"{__name__}:older"


def older(config, start_ns):
    return SwitchMlWorker(config, Cutting(source_of(config)), start_ns=start_ns)


def older_plan(scenario):
    found = plan_as("switchml", scenario)
    workers = [{field.name: getattr(each, field.name) for field in fields(each)} for each in found.workers]
    return replace(found, workers=tuple(OlderConfig(**values) for values in workers))


OLDER = otherwise(BF16, plan=older_plan)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a trace of every collective, and of a message of each rank."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bf16.py").write_text(own_protocol() + OTHERWISE + OTHERS, encoding="utf-8")
    calls = [node(number, kind, comm_size=40_000, root=1) for number, kind in enumerate(COLLECTIVES)]
    messages = [
        [
            node(20, "send", comm_size=9_000, comm_dst=(rank + 1) % 4),
            node(21, "recv", comm_size=9_000, comm_src=(rank - 1) % 4),
        ]
        for rank in range(4)
    ]
    write_trace(tmp_path / "trace", [[*calls, *more] for more in messages])
    return tmp_path


def changes(name: str) -> list[str]:
    return ["job.workload=trace/", f"job.protocol=bf16.py:{name}", "job.iterations=2", "dilation=1"]


def words(name: str) -> list[str]:
    return [part for change in changes(name) for part in ("--set", change)]


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("BF16", "simulated"),
        ("OLDER", "simulated"),
        pytest.param("BF16", "emulated", marks=[*needs_root, pytest.mark.minutes]),
    ],
)
@pytest.mark.protocols("ring")
def test_its_workers_make_the_sums_and_connections_carry_the_rest(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, world: str
) -> None:
    trace = trace_in(make_plan(load_scenario("switchml-lossy", changes(name), world="simulated")).workers[0])
    assert trace is not None
    assert len(sums_of(trace)) == 2, "all_reduce and barrier: it runs no other operation"
    run = ["run", "switchml-lossy", *words(name), "--world", world, "--no-twin", "-q", "--json", "--out", "run"]
    assert main(run) == 0
    document = json.loads(capsys.readouterr().out)
    passed = {check["name"] for check in document["checks"] if check["verdict"] == "pass"}
    assert {"bit_exact", "exactly_once", "faults_exercised"} <= passed
    if world == "simulated":
        assert main(["replay", "run", *words(name)[2:4], "-q", "--out", "again"]) == 0
        # What the hosts send is not what SwitchML's would.
        assert main(["replay", "run", "--set", "job.protocol=switchml", "-q", "--out", "other"]) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("NO_FILES", ("--set: job.protocol: bf16.py:NO_FILES runs no workload that is a file; found "
                      "'bf16.py:NO_FILES'; allowed: atp, esa, grid, ps, switchml, or a protocol over RoCE connections "
                      "that has a name; or runs_files true in its class")),
        ("UNSURE", "bf16.py: UNSURE.runs_files: the protocol cannot have this; found 'yes'; allowed: True or False"),
        pytest.param("UNLIKE", ("bf16.py: UNLIKE.like: the protocol cannot have this; found 'dlcp'; allowed: atp, esa, "
                                "grid, ps, switchml (runs_files is true)"), marks=pytest.mark.protocols("dlcp")),
        ("GONE", "--set: job.protocol: the protocol file bf16.py has no such protocol; found 'GONE'; allowed: "),
    ],
)  # fmt: skip
def test_what_runs_no_files_is_refused(here: Path, name: str, text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario("switchml", changes(name))
    assert str(caught.value).startswith(without_missing(text))
    assert "job.workload" not in str(caught.value), "one problem"


@pytest.mark.protocols("ring")
def test_workers_without_connections_are_refused(here: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        make_plan(load_scenario("switchml", changes("BARE"), world="simulated"))
    assert str(caught.value) == (
        "scenario: job.protocol: its workers cannot have connections, which a trace needs; found Bare; allowed: a "
        "configuration with a field mesh, None by default"
    )


def test_a_scenario_file_with_a_trace_runs_no_code(here: Path) -> None:
    (here / "bf16.py").write_text("raise SystemExit('it ran')", encoding="utf-8")
    text = (
        "name: a\nworld: simulated\ntopology: {kind: rack, hosts: 4}\njob: {workload: trace/, protocol: bf16.py:BF16}\n"
    )
    (here / "s.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"job\.protocol: a scenario file cannot name code to run"):
        load_scenario("s.yaml")
