"""Grids, skips, resuming, files, crossovers: a sweep from its text to its figures."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.runs import codeversion
from testbed.runs.codeversion import model_version
from testbed.sweeps import builtin_sweeps, engine, load_sweep
from testbed.sweeps.analysis import by_point, crossovers
from testbed.sweeps.engine import run_sweep
from testbed.sweeps.evaluate import code_version
from testbed.sweeps.loader import parse_sweep
from testbed.sweeps.plot import svg
from testbed.sweeps.report import summary
from testbed.sweeps.store import Store
from testbed.sweeps.tasks import make_tasks

MACHINES = """name: small
model: {model}
algorithms: [FR, TA, PN]
parameters:
  gpus_per_machine: 8
  inter_rate: 100Gbps
  intra_rate: [126Gbps, 200Gbps]
  size: 100MB
  gpus: {gpus}
  alpha: {alpha}
"""


def machines(model="flow", gpus="[32, 128]", alpha="{from: 100ns, to: 100us, factor: 10}"):
    return parse_sweep(MACHINES.format(model=model, gpus=gpus, alpha=alpha), "small.yaml")


def rack(model, algorithms, hosts):
    return parse_sweep(
        f"name: rack\nmodel: {model}\nalgorithms: {algorithms}\nparameters: {{hosts: {hosts}, rate: 1Gbps, size: "
        f"40kB}}",
        "rack.yaml",
    )


def run(sweep, folder, jobs=1):
    return run_sweep(sweep, folder, jobs, lambda done, total, reused: None)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1us", (1000,)),
        ("[1us, 5us]", (1000, 5000)),
        ("{from: 100ns, to: 100us, factor: 10}", (100, 1000, 10_000, 100_000)),
        ("{from: 1us, to: 7us, factor: 2}", (1000, 2000, 4000)),
        ("{from: 1us, to: 100us, points: 3}", (1000, 10_000, 100_000)),
        ("{from: 0, to: 2500ns, step: 1us}", (0, 1000, 2000)),
        ("{from: 1ns, to: 4ns, points: 10}", (1, 2, 3, 4)),
    ],
)
def test_ranges(text, values):
    assert dict(machines(alpha=text).axes)["alpha"] == values


@pytest.mark.protocols("ring")
def test_what_cannot_be_is_left_out_and_counted():
    tasks, skipped = make_tasks(machines(gpus="[30, 32]"))
    assert skipped == {"gpus is no multiple of gpus_per_machine": 2 * 4 * 3}
    assert {task.values["gpus"] for task in tasks} == {32}
    tasks, skipped = make_tasks(rack("formula", "[ring, rabenseifner, recursive_doubling]", "[4, 6]"))
    assert [(task.algorithm, task.values["hosts"]) for task in tasks] == [
        ("ring", 4), ("rabenseifner", 4), ("recursive_doubling", 4), ("ring", 6),
    ]  # fmt: skip
    assert sum(skipped.values()) == 2
    _, skipped = make_tasks(rack("packet", "[ring]", "[4, 33]"))
    assert skipped == {"the packet level has at most 32 hosts": 1}


def test_all_models_of_a_rack_tell_about_the_same(tmp_path):
    times = {}
    for model in ("formula", "flow", "message", "packet"):
        finished = run(rack(model, "[netreduce, ring]", "[4]"), tmp_path / model)
        times[model] = [result["seconds"] for _, result in finished.rows]
    assert times["message"] == pytest.approx(times["packet"], rel=0.05)
    assert times["flow"] == pytest.approx(times["packet"], rel=0.05)
    assert times["formula"] == pytest.approx(times["packet"], rel=0.2)  # no headers, no ACKs, no hello


def test_what_is_there_is_not_computed_again(tmp_path, monkeypatch):
    first = run(machines(gpus="[32]"), tmp_path)
    assert (first.reused, len(first.rows)) == (0, 24)
    computed = []
    monkeypatch.setattr(engine, "evaluate", lambda task: computed.append(task) or {"seconds": 1.0})
    again = run(machines(gpus="[32]"), tmp_path)
    assert (again.reused, computed) == (24, [])
    assert again.rows == first.rows
    more = run(machines(gpus="[32, 64]"), tmp_path)
    assert more.reused == 24
    assert {task.values["gpus"] for task in computed} == {64}


def test_another_version_of_the_code_computes_anew(tmp_path, monkeypatch):
    run(machines(gpus="[32]"), tmp_path)
    monkeypatch.setattr(engine, "code_version", lambda model: "another")
    again = run(machines(gpus="[32]"), tmp_path)
    assert (again.reused, again.anew) == (0, 24)
    told = "  computed now 24 (of them 24 again, because the code changed), already there 0"
    assert list(summary(again))[1] == told
    assert run(machines(gpus="[32]"), tmp_path).anew == 0
    assert run(machines(gpus="[64]"), tmp_path).anew == 0


@pytest.mark.parametrize(
    ("model", "file", "heeded"),
    [
        ("packet", "switch_nodes/netreduce/absorb.c", True),
        ("packet", "workloads/native/roce.h", True),
        ("packet", "testbed/scale/packet.py", True),
        ("packet", "testbed/scenario/model.py", True),
        ("message", "testbed/scale/rack.py", True),
        ("message", "workloads/wire/headers.py", True),
        ("flow", "testbed/scale/fluid.py", True),
        *((model, "testbed/protocols/ring/scale.py", True) for model in ("packet", "message", "flow")),
        ("formula", "testbed/protocols/ring/scale.py", False),
        ("packet", "testbed/protocols/netreduce/__init__.py", True),
        ("formula", "workloads/costs/flat.py", True),
        ("formula", "testbed/sweeps/parameters.py", True),
        ("formula", "testbed/scale/fluid.py", False),
        ("formula", "switch_nodes/netreduce/absorb.c", False),
        ("packet", "testbed/cli/main.py", False),
    ],
)
@pytest.mark.protocols("ring")
def test_the_version_of_a_model_follows_all_that_it_runs(monkeypatch, model, file, heeded):
    changed, read = Path(__file__).parents[3] / file, codeversion._content
    assert changed.is_file()
    before = code_version(model)
    model_version.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(codeversion, "_content", lambda path: read(path) + (b"\n" if Path(path) == changed else b""))
        after = code_version(model)
    model_version.cache_clear()
    assert (after != before) is heeded


def test_keys_tell_every_parameter_and_algorithm_apart():
    tasks, _ = make_tasks(machines())
    assert len({task.key("v") for task in tasks}) == len(tasks)
    assert tasks[0].key("v") != tasks[0].key("w")
    assert code_version("formula") != code_version("flow")


def test_a_line_cut_short_by_a_kill_is_computed_again(tmp_path):
    run(machines(gpus="[32]"), tmp_path)
    file = tmp_path / "results.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    again = run(machines(gpus="[32]"), tmp_path)
    assert again.reused == 23
    assert run(machines(gpus="[32]"), tmp_path).reused == 24
    store = Store(tmp_path)
    store.close()
    assert len(store.results) == 24


def test_an_interrupted_run_keeps_what_it_had(tmp_path):
    def stop(done, total, reused):
        if done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(machines(gpus="[32]"), tmp_path, 1, stop)
    assert run(machines(gpus="[32]"), tmp_path).reused >= 10


def test_two_processes_find_the_same_as_one(tmp_path):
    alone = run(machines(), tmp_path / "one")
    both = run(machines(), tmp_path / "two", jobs=2)
    assert [result["seconds"] for _, result in both.rows] == [result["seconds"] for _, result in alone.rows]


def test_crossovers_of_the_flow_level_are_those_of_the_closed_form(tmp_path):
    found = crossovers(by_point(run(machines(), tmp_path).rows))
    both = [item for item in found if item.found is not None]
    # Protocol text, section 9: alpha* 60.2 us at 32 GPUs, 12.8 us at 128, B_intra 15.75 GB/s.
    assert [item.found * 1e6 for item in both if item.along == "alpha"] == pytest.approx([60.2, 12.8], rel=0.004)
    assert any(item.along == "ratio" for item in both)
    for item in both:
        assert item.found == pytest.approx(item.closed, rel=1e-6)
    above = [item for item in found if item.along == "alpha" and item.values["intra_rate"] == 200_000_000_000]
    assert [(item.wins, item.closed) for item in above] == [("PN", None)] * 2


def test_what_a_person_reads(tmp_path):
    text = "\n".join(summary(run(machines(gpus="[30, 32]"), tmp_path)))
    assert text.startswith(
        "small: 8 points, 24 results of the flow model\n  computed now 24, already there 0\n"
        "  left out 24: gpus is no multiple of gpus_per_machine\n  fastest: FR at 3, PN at 5 of 8 points\n"
    )
    assert "60.2 us      60.2 us" in text


def test_the_command_writes_json_csv_and_a_plot(tmp_path, capsys):
    (tmp_path / "small.yaml").write_text(MACHINES.format(model="formula", gpus="32", alpha="[1us, 10us]"))
    words = ["sweep", str(tmp_path / "small.yaml"), "--out", str(tmp_path / "out"), "--jobs", "1", "--plot", "--json"]
    assert main(words) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "out" / "results.json").read_text())
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").open()))
    assert len(rows) == len(printed["results"]) == 12
    fr = next(row for row in rows if row["algorithm"] == "FR" and row["alpha"] == "1000")
    assert float(fr["seconds"]) == pytest.approx(15.562e-3)
    assert (tmp_path / "out" / "plot.svg").read_text().startswith("<svg")


def test_the_plot_holds_a_line_for_each_algorithm_and_setting(tmp_path):
    text, charts = svg(run(machines(), tmp_path))
    assert charts == 4
    assert text.count("<polyline") == 4 * 3


def test_the_builtins_cover_the_grid_of_the_paper():
    assert set(builtin_sweeps()) >= {"netreduce-scale", "netreduce-65536"}
    axes = dict(load_sweep("netreduce-scale").axes)
    assert (min(axes["gpus"]), max(axes["gpus"])) == (32, 1024)
    assert (min(axes["intra_rate"]), max(axes["intra_rate"])) == (126 * 10**9, 800 * 10**9)
    assert (min(axes["alpha"]), max(axes["alpha"])) == (100, 100_000)
    assert axes["size"] == (10**6, 10**8)
    large = load_sweep("netreduce-65536")
    assert (large.model, max(dict(large.axes)["gpus"])) == ("message", 65536)


def test_a_killed_run_goes_on(tmp_path):
    """For real: SIGKILL in the middle, then again."""
    top = Path(__file__).resolve().parents[3]
    (tmp_path / "slow.yaml").write_text(MACHINES.format(model="message", gpus="[4096, 8192]", alpha="[1us, 2us, 3us]"))
    command = [
        sys.executable,
        "-m",
        "testbed",
        "sweep",
        str(tmp_path / "slow.yaml"),
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    ]
    with subprocess.Popen(command, cwd=top, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if (tmp_path / "results.jsonl").exists() and (tmp_path / "results.jsonl").read_text().count("\n") >= 2:
                process.kill()
    assert process.returncode == -9
    there = (tmp_path / "results.jsonl").read_text().count("\n")
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=True)
    assert there >= 2
    assert f"already there {there}" in done.stdout
