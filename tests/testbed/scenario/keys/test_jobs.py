"""Several jobs in a scenario: what an entry takes over, where it runs, and that it survives being written out."""

from pathlib import Path

import pytest

from testbed.plan import make_plan
from testbed.reading.yamlfile import MAX_BYTES
from testbed.scenario import Scenario, dump_scenario, load_scenario, parse_scenario
from workloads.errors import ScenarioError
from workloads.models import MOST_LAYERS, create_model, scaled_layers

HEAD = """name: several
topology: {kind: rack, hosts: 8, link: {rate: 20Mbps}, links: {h4-s1: {rate: 10Mbps}}}
switch: {program: switchml, memory: 32}
"""
BASE = "job: {protocol: switchml, iterations: 3, size: 4kB, window_packets: 7, compute: {ratio: 2}}\n"


def parse(jobs: str, base: str = BASE, **more: str) -> Scenario:
    return parse_scenario(f"{HEAD}{base}jobs:\n{jobs}", "several.yaml", folder=Path(more.get("folder", ".")))


def test_an_entry_says_what_is_different():
    first, second, third = parse(
        "  - {workers: 2}\n"
        "  - {name: mine, id: 9, hosts: [h5, h1], size: 8kB, iterations: 1, arrival: 5ms, window_packets: 3, dtype: "
        "int32}\n"
        "  - {workers: 3, model: alexnet, scale: 10000, compute: {forward: 1ms, backward: 3ms, jitter: 5%}, "
        "seed_offset: 7}\n"
    ).jobs
    assert (first.name, first.number, first.hosts, first.seed_offset) == ("job1", 1, ("h2", "h3"), 0)
    assert (first.size_bytes, first.iterations, first.window_packets) == (4000, 3, 7)
    assert first.compute is not None
    assert first.compute.ratio == 2
    assert (second.name, second.number, second.hosts, second.seed_offset) == ("mine", 9, ("h5", "h1"), 1)
    assert (second.size_bytes, second.iterations, second.arrival_ns) == (8000, 1, 5_000_000)
    assert (second.window_packets, second.dtype) == (3, "int32")
    assert (third.hosts, third.seed_offset) == (("h4", "h6", "h7"), 7)
    assert third.size_bytes == 4 * sum(scaled_layers(create_model("alexnet"), 10_000, 256))


def test_a_size_replaces_the_model_that_all_have_and_the_other_way_round():
    base = "job: {protocol: switchml, model: vgg16}\n"
    small, same = parse("  - {workers: 2, size: 4kB}\n  - {workers: 2}\n", base).jobs
    assert (small.model, small.size_bytes) == (None, 4000)
    assert same.model == create_model("vgg16")
    assert same.size_bytes > 4000


def test_a_scale_survives_being_written():
    text = (
        "name: scaled\ntopology: {kind: rack, hosts: 3}\nswitch: {program: atp}\njob: {protocol: atp, quantisation: "
        "'fixed:2.5e4'}\n"
    )
    scenario = parse_scenario(text, "scaled.yaml")
    assert scenario.job.fixed_scale == 25_000
    assert parse_scenario(dump_scenario(scenario), "again.yaml").job.fixed_scale == 25_000


def test_written_out_it_loads_back(tmp_path):
    (tmp_path / "net.csv").write_text("layer,bytes,forward_ms,backward_ms\na,40000,1.5,3\nb,4000,0.25,1\n")
    scenario = parse(
        "  - {workers: 2, model: net.csv, scale: 2}\n"
        "  - {workers: 2, model: gpt2, straggler: {rank: 1, delay: 1ms, slowdown: 1.5}}\n"
        "  - {workers: 2, arrival: 3ms, compute: {forward: 1ms, backward: 2ms, jitter: 10%}, id: 40}\n",
        folder=str(tmp_path),
    )
    text = dump_scenario(scenario)
    again = parse_scenario(text, "again.yaml")
    assert dump_scenario(again) == text
    assert make_plan(again).workers == make_plan(scenario).workers
    assert make_plan(again).switches == make_plan(scenario).switches


def test_what_all_have_is_not_taken_over_again_when_it_loads_back():
    base = "job: {protocol: switchml, scale: 500, arrival: 5ms, window_packets: 3}\n"
    scenario = parse(
        "  - {workers: 2, model: vgg16}\n  - {workers: 2, arrival: 0ms, size: 4kB, window_packets: 64}\n  - {workers: "
        "2}\n",
        base,
    )
    assert [(job.scale, job.arrival_ns) for job in scenario.jobs] == [(500, 5_000_000), (1000, 0), (500, 5_000_000)]
    assert parse_scenario(dump_scenario(scenario), "again.yaml") == scenario


def test_the_model_of_the_command_line_is_found_from_here(tmp_path, monkeypatch):
    (tmp_path / "net.csv").write_text("layer,elements\na,1000\n")
    monkeypatch.chdir(tmp_path)
    text = f"{HEAD}job: {{protocol: switchml}}\n"
    scenario = parse_scenario(text, "elsewhere/x.yaml", ["job.model=net.csv"])
    assert scenario.job.size_bytes == 1024
    with pytest.raises(ScenarioError, match="no such file"):
        parse_scenario(text.replace("switchml}", "switchml, model: net.csv}"), "elsewhere/x.yaml")


def test_more_jobs_than_ids():
    entries = "".join("  - {workers: 2}\n" for _ in range(1025))
    with pytest.raises(ScenarioError) as caught:
        parse(entries, "job: {protocol: switchml}\n")
    assert (
        str(caught.value)
        == "several.yaml:5: jobs: more jobs than ids; found 1025 jobs; allowed: at most 1024, whose ids are 1 to 1024"
    )


def test_copies_are_jobs_on_shares_of_the_hosts():
    scenario = parse_scenario(
        f"{HEAD}job: {{protocol: switchml, copies: 4, straggler: {{rank: 5, delay: 1ms}}}}\n", "copies.yaml"
    )
    assert [job.hosts for job in scenario.all_jobs] == [("h1", "h2"), ("h3", "h4"), ("h5", "h6"), ("h7", "h8")]
    late = [worker.name for worker in make_plan(scenario).workers if worker.workload.straggle_ns]
    assert late == ["h6"]


def test_the_built_in_ones_are_there():
    assert len(load_scenario("jobs-mix").jobs) == 4
    assert len(load_scenario("jobs-8").jobs) == 8
    assert len(load_scenario("jobs-64").jobs) == 64


@pytest.mark.parametrize("program", ["atp", "esa"])
@pytest.mark.parametrize("name", ["jobs-8", "jobs-64"])
def test_built_in_jobs_run_with_the_other_programs(name: str, program: str) -> None:
    """Their last host has nothing else to do than to be the server of all jobs."""
    scenario = load_scenario(name, [f"switch.program={program}", f"job.protocol={program}"])
    assert {job.server for job in scenario.jobs} == {scenario.topology.hosts[-1].name}
    assert scenario.topology.hosts[-1] not in scenario.ranks


def test_layers_of_all_jobs_fit_in_a_scenario_file(tmp_path):
    """The longest names and times, in the characters that take most room."""
    rows = [f"{number:04d}{'😀' * 15},4294967296,3599999.999999,3599999.999999\n" for number in range(MOST_LAYERS)]
    head = "layer,elements,forward_ms,backward_ms\n"
    (tmp_path / "most.csv").write_text(head + "".join(rows))
    (tmp_path / "one.csv").write_text(head + rows[0])
    most = "  - {workers: 2, model: most.csv, scale: 1000000}\n"
    scenario = parse(f"{most}  - {{workers: 2, model: vgg16}}\n", folder=str(tmp_path))
    text = dump_scenario(scenario)
    assert len(text.encode()) < MAX_BYTES * 6 // 10
    assert parse_scenario(text, "again.yaml").jobs[0].model.layers == scenario.jobs[0].model.layers
    with pytest.raises(ScenarioError) as caught:
        parse(f"{most}  - {{workers: 2, model: one.csv}}\n", folder=str(tmp_path))
    assert str(caught.value) == (
        "several.yaml:7: jobs[1].model: too many layers to write out; found 2049 in the jobs so far; allowed: at most "
        "2048 in all, built-in models not counted"
    )
