"""A protocol of an installed package, with a header, a transport and a timer of its own, and blocks that the data
decides: what is offered to ours is offered to it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.emulated import needs_root
from tests.support.packages import metadata

TOP = Path(__file__).resolve().parents[3]
PACKAGE = TOP / "tests/data/packages/sparse_sums"
ENTRIES = {
    "ina_testbed.protocols": {"sparse_sums": "sparse_sums:PROTOCOL"},
    "ina_testbed.programs": {"sparse_sums": "sparse_sums.program:KIND"},
}
FILE = """\
name: sparse
topology: {kind: rack, hosts: 4, link: {rate: 20Mbps}}
switch: {program: sparse_sums}
job: {protocol: sparse_sums, size: 20kB, iterations: 2, window_packets: 4}
faults:
  - {kind: drop, name: lost, links: [h2-s1], direction: down, match: {kind: sum, sequence: SUM, attempt: 1}}
  - {kind: drop, name: lost-again, links: [h1-s1], direction: up, match: {kind: plan, attempt: 1}}
  - {kind: drop, name: lost-twice, links: [h1-s1], direction: up, match: {kind: plan, sequence: 1, attempt: 2}}
time_limit: 30s
"""
"""the plan of h1 is lost in both iterations, and that of the second one also when it is sent again"""


def installed(folder: Path) -> Path:
    shutil.copytree(PACKAGE, folder / "sparse_sums", ignore=shutil.ignore_patterns("__pycache__"))
    metadata(folder, "ina-testbed-sparse-sums", ENTRIES)
    (folder / "sparse.yaml").write_text(FILE.replace("SUM", "3"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("site"))


def tb(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{TOP}:{site}", "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-P", "-m", "testbed", *words], cwd=site, env=environment, capture_output=True, text=True,
        timeout=250, check=False,
    )  # fmt: skip


def run(site: Path, *words: str, world: str = "simulated") -> Mapping[str, Any]:
    done = tb(site, "run", "sparse.yaml", "--world", world, "-q", "--json", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    document: Mapping[str, Any] = json.loads(done.stdout)
    return document


def strikes(site: Path, run_dir: str) -> list[tuple[str, str, int]]:
    """(fault, packet, attempt), in the order of names."""
    lines = (site / run_dir / "history.jsonl").read_text(encoding="utf-8").splitlines()
    struck = [found for found in map(json.loads, lines) if found["event"] == "FaultStruck"]
    return sorted((each["fault"], each["packet"].partition(" #")[0], each["occurrence"]) for each in struck)


STRUCK = [
    ("lost", "sum switch job 1 packet 3, attempt 1", 1),
    ("lost-again", "plan rank 0 job 1 packet 0, attempt 1", 1),
    ("lost-again", "plan rank 0 job 1 packet 1, attempt 1", 1),
    ("lost-twice", "plan again rank 0 job 1 packet 1, attempt 2", 2),
]


def test_faults_choose_its_packets_by_kind_number_and_attempt(site: Path) -> None:
    document = run(site, "--out", "chosen")
    assert {check["name"]: check["verdict"] for check in document["checks"]}["exactly_once"] == "pass"
    assert strikes(site, "chosen") == STRUCK
    assert {fault["name"]: fault["strikes"] for fault in document["faults"]} == {
        "lost": 1, "lost-again": 2, "lost-twice": 1,
    }  # fmt: skip


def test_the_data_says_which_blocks_are_summed(site: Path) -> None:
    run(site, "--out", "blocks")
    lines = (site / "blocks/history.jsonl").read_text(encoding="utf-8").splitlines()
    sums = [found for found in map(json.loads, lines) if found["event"] == "BlockSummed"]
    inside = {tuple(each["contributions"]) for each in sums}
    assert len(inside) > 5, "ranks send different blocks"
    assert not any(set(each) == {0} for each in inside)
    assert len(sums) < 2 * 20, "blocks that no worker sends are not summed"


@pytest.mark.parametrize("world", [pytest.param("emulated", marks=needs_root)])
def test_the_same_packets_are_struck_between_namespaces(site: Path, world: str) -> None:
    run(site, "--no-twin", "--out", "between", world=world)
    assert strikes(site, "between") == STRUCK


def test_its_transport_is_listed(site: Path) -> None:
    listed = tb(site, "list", "transports").stdout
    assert "match.kind: plan, union, block, sum, ask; timers: ask (nothing came: plans" in " ".join(listed.split())
    assert [line.split()[0] for line in listed.splitlines() if line[0] != " "] == ["datagrams", "uc", "rc", "sparse"]


def test_what_it_does_not_send_is_refused(site: Path) -> None:
    done = tb(site, "validate", "sparse.yaml", "--set", "faults.lost.match.kind=result")
    assert done.returncode == 64
    assert "sparse_sums sends no such datagram; found 'result'; allowed: plan, union, block, sum, ask" in done.stderr
    done = tb(site, "validate", "sparse.yaml", "--set", "faults.lost.match={opcode: data}")
    assert "sparse_sums sends no RoCE packets; allowed: kind, sequence, attempt" in done.stderr


def test_a_sum_without_a_packet_that_the_data_asks_for_is_found(tmp_path: Path) -> None:
    folder = installed(tmp_path)
    program = folder / "sparse_sums/program.py"
    text = program.read_text(encoding="utf-8")
    right = "if plan[index // 8] >> index % 8 & 1]"
    assert text.count(right) == 1
    program.write_text(text.replace(right, right[:-1] + " and (rank or packet.number != 5)]"), encoding="utf-8")
    done = tb(folder, "run", "sparse.yaml", "--world", "simulated", "-q", "--json", "--out", "broken")
    verdicts = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert (done.returncode, verdicts["exactly_once"]["verdict"]) == (1, "fail")
    assert "block 5 " in verdicts["exactly_once"]["detail"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('        who = "switch"', '        who = packet.nothing or "switch"',
         "the protocol's own code failed in identify: AttributeError: 'Packet' object has no attribute 'nothing'"),
        ("        return SentAs(\n", "        if packet.kind != PLAN:\n            return 5\n        return SentAs(\n",
         "SparseTransport.identify returned a wrong value; found 5; allowed: a SentAs of two texts"),
        ("    udp_port = PORT\n", "    udp_port = 'x'\n",
         "sparse_sums.transport.udp_port: the protocol cannot have this; found 'x'; allowed: a whole number or None"),
    ],
    ids=["raises", "type", "field"],
)  # fmt: skip
def test_what_its_transport_does_wrong_is_its_own(tmp_path: Path, old: str, new: str, told: str) -> None:
    folder = installed(tmp_path)
    header = folder / "sparse_sums/header.py"
    text = header.read_text(encoding="utf-8")
    assert text.count(old) == 1
    header.write_text(text.replace(old, new), encoding="utf-8")
    done = tb(folder, "run", "sparse.yaml", "--world", "simulated", "-q", "--out", "run")
    assert (done.returncode, told in done.stderr) == (64, True), done.stderr


def test_timelines_tell_its_packets(site: Path) -> None:
    run(site, "--out", "lanes")
    text = tb(site, "timeline", "lanes").stdout
    assert "h1, worker" in text
    assert "sent again (timeout)" in text
    assert "plan again rank 0 job 1 packet 1, attempt 2" in text


def test_it_is_hunted_in(site: Path) -> None:
    done = tb(site, "hunt", "--protocol", "sparse_sums", "--schedules", "20", "--jobs", "1", "--out", "hunt")
    assert "Verdict: PASS      no schedule broke a rule" in done.stdout, done.stdout + done.stderr


def test_it_is_swept(site: Path) -> None:
    (site / "grid.yaml").write_text(
        "name: grid\nscenarios: [sparse.yaml]\naxes: {job.iterations: [2, 3]}\nseeds: 1\nworlds: simulated\n",
        encoding="utf-8",
    )
    done = tb(site, "sweep", "grid.yaml", "--out", "grid", "--jobs", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 pass" in done.stdout or "2 of 2" in done.stdout, done.stdout


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_wireshark_shows_its_header(site: Path) -> None:
    run(site, "--out", "seen", "--pcap")
    assert tb(site, "dissector", "--out", "ina.lua").returncode == 0
    (capture,) = (site / "seen").rglob("h2-s1.pcapng")
    shown = subprocess.run(
        ["tshark", "-X", "lua_script:ina.lua", "-r", str(capture), "-Y", "ina_sparse.kind == 3", "-T", "fields",
         "-e", "ina_sparse.number", "-e", "ina_sparse.attempt", "-e", "ina_sparse.element"],
        cwd=site, capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    assert ["3", "2"] in [row[:2] for row in rows], "the sum that was lost came again"
    assert all(len(row[2].split(",")) > 1 for row in rows)


def test_it_trains(site: Path) -> None:
    program = TOP / "tests/testbed/train/rank_program.py"
    done = tb(
        site, "train", "sparse.yaml", "--world", "simulated", "--set", "topology.hosts=2", "--out", "trained", "--",
        str(program), "sum:1000", "sum:9000",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((site / "trained/result.json").read_text(encoding="utf-8"))
    verdicts = {check["name"]: check["verdict"] for check in result["checks"]}
    assert (verdicts["bit_exact"], verdicts["exactly_once"]) == ("pass", "pass")
