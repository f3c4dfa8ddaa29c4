"""One scenario and one seed give one history file, whatever the process, its hash seed and what it ran before."""

import re
import subprocess
import sys

import pytest

import benchmarks.determinism as determinism
from benchmarks.determinism import Case, compare
from testbed.scenario import builtin_names, load_scenario
from tests.support.left_out import left_out

LEAST, SMALL = ("job.size=40kB",), ("job.size=100kB",)
IN_LATER_MESSAGES = {
    *(
        "corrupt-contribution",
        "corrupt-result",
        "data-first-lost",
        "data-last-lost",
        "data-middle-lost",
        "delayed-link",
    ),
    *("nak-lost", "psn-wrap", "rack-lossy", "result-lost", "retransmission-lost-again", "rewind", "stale-duplicate"),
    *("irn-first-lost", "irn-lost-again"),
    *("spine-leaf-boundary-lost", "spine-leaf-first-lost", "spine-leaf-last-hop-lost"),
}
"""where their faults strike"""
OTHERWISE = {
    "congested": ("job.size=200kB", "topology.link.ecn_threshold=5"),
    "demo": ("job.iterations=2",),
    "accelerator-dies": (*SMALL, "faults.cut.from=10ms"),
    "accelerator-flap": (*SMALL, "faults.flap.from=10ms", "faults.flap.until=40ms"),
    "accelerator-killed": (*SMALL, "faults.kill.from=10ms"),
    "accelerator-lossy": (*SMALL, "faults.loss.rate=5%"),
    "dead-link": (*SMALL, "faults.cut.from=5ms", "transport.timeout=10"),
    "first-of-last-message-lost": ("job.size=99264", "faults.first.match.message=4"),
    "jobs-64": ("jobs=[{workers: 2, size: 8kB}, {workers: 3, size: 12kB, arrival: 1ms}]", "faults.loss.rate=10%"),
    "jobs-mix": ("job.scale=20000", "job.iterations=1"),
    "hierarchical-lossy": ("job.size=60kB", "job.message_packets=8"),
    "last-result-lost": (*SMALL, "faults.result.match.message=4"),
    "link-flap": ("job.size=200kB",),
    "rack-bursty": ("job.size=200kB",),
    "rack-jumbo": (*SMALL, "faults.loss.rate=10%"),
    "spine-leaf-ack-lost": ("job.size=300kB",),
    "strategy": ("job.divide=1000",),
    "strategy-esa": (),
    "strategy-lossy": ("job.divide=4",),
    "tail-lost": (*SMALL, "faults.tail.match.message=4"),
}
"""what keeps the faults of the others striking in a job that is small"""
IN_VIRTUAL_TIME = [name for name in builtin_names() if "simulated" in load_scenario(name).worlds]
OTHERWISE |= {name: () for name in IN_VIRTUAL_TIME if name.startswith("repair")}  # a code divides the size of its file
OTHERWISE |= {
    name: () for name in IN_VIRTUAL_TIME if name.startswith("dlcp")
}  # a bound leaves nothing out of few packets
BUILT_IN = [
    Case(name, 1, OTHERWISE.get(name, SMALL if name in IN_LATER_MESSAGES or name.startswith("spine-leaf-") else LEAST))
    for name in IN_VIRTUAL_TIME
]
MORE = [
    Case(name, seed, (*SMALL, *more))
    for seed in (2, 3)
    for name, more in (
        ("rack-lossy", ("clocks.offset=300ms", "clocks.drift=200ppm")),
        ("shift", ("topology.link.ecn_threshold=4", "topology.links.h2-s1.rate=20Mbps")),
        ("delayed-link", ("topology.link.delay=1ms", "topology.link.jitter=700us")),
        ("ring", ("clocks.drift=1%", "job.dtype=int32")),
    )
]


def test_scenarios_give_the_same_files_in_different_processes(tmp_path):
    found = compare(MORE, tmp_path)
    assert [comparison.case for comparison in found if not comparison.same] == []
    assert len(found) == len(MORE)


@pytest.mark.minutes
def test_fifty_scenarios_give_the_same_files_in_different_processes(tmp_path):
    cases = BUILT_IN + MORE
    assert len(set(cases)) >= 50
    found = compare(cases, tmp_path)
    assert [comparison.case for comparison in found if not comparison.same] == []
    assert min(comparison.size for comparison in found) > 5_000
    texts = [(tmp_path / "1" / f"{index}.jsonl").read_text(encoding="utf-8") for index in range(len(cases))]
    assert len(set(texts)) == len(cases)
    struck = {case.scenario for case, text in zip(cases, texts, strict=True) if '"FaultStruck"' in text}
    faultless = {name for name in IN_VIRTUAL_TIME if not load_scenario(name).faults}
    quiet = faultless | {"grid-link-down"}  # a job so small is over before
    assert set(IN_VIRTUAL_TIME) - struck == quiet - left_out()
    marking = [case.scenario for case, text in zip(cases, texts, strict=True) if re.search(r'"marks":[1-9]', text)]
    expected = ["atp-two-jobs", "congested", "esa-scarce", "pfc-incast", "shift", "shift"]
    assert marking == [name for name in expected if name not in left_out()]


HASH_ORDER = """
import benchmarks.determinism as determinism
from testbed.worlds.simulated import simulate

def careless(plan):
    return sorted(simulate(plan), key=lambda record: hash(record.name))

determinism.simulate = careless
determinism.main()
"""


def test_a_world_that_depends_on_hashes_is_found(tmp_path, monkeypatch):
    """The comparison itself: with the order of the records left to the hash of a text, the files differ."""
    real = subprocess.run

    def careless(command, **options):
        arguments = command[command.index("benchmarks.determinism") + 1 :]
        return real([sys.executable, "-c", HASH_ORDER, *arguments], **options)

    monkeypatch.setattr(determinism.subprocess, "run", careless)
    (found,) = compare([Case("rack", 1, ("job.size=4kB",))], tmp_path)
    assert not found.same


def test_the_command_says_what_it_found(tmp_path, capsys):
    file = tmp_path / "rows.json"
    assert determinism.main(["rack", "--set", "job.size=4kB", "--json", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 scenarios and seeds, 2 processes each: 0 differ"
    assert '"same": true' in file.read_text(encoding="utf-8")


def test_the_command_fails_when_files_differ(monkeypatch, capsys):
    def differing(cases, folder, hash_seeds):
        return [determinism.Comparison(case, 10, False) for case in cases]

    monkeypatch.setattr(determinism, "compare", differing)
    assert determinism.main(["rack"]) == 1
    assert "DIFFERENT" in capsys.readouterr().out


def test_a_scenario_that_is_none_is_refused(capsys):
    assert determinism.main(["no-such-scenario"]) == 64
    assert "no such scenario" in capsys.readouterr().err
