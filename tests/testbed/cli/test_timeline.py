"""`tb timeline`: what it reads, what it writes, and the texts of its errors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.faults.model import Loss
from testbed.history import write_history
from testbed.plan import make_plan
from testbed.runs.kepthistory import load_history
from testbed.worlds.simulated import simulate
from tests.support.records import event_with, held
from tests.support.simulation import rack_links, rack_plan
from topologies import DIRECTIONS
from workloads.events import MessageAcked, MessagePosted

PLAN = rack_plan(2, faults=(Loss("loss", rack_links(2), DIRECTIONS, rate=0.02),), job={"size_bytes": 40_000})


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    write_history(folder / "history.jsonl", simulate(PLAN))
    return folder


def test_text_goes_to_the_terminal(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", str(run_dir)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("2 hosts, s1; 0.0000 ms to ")
    assert "\nh1 -> h2 (QP 0x" in out
    assert err == ""


def test_a_picture_goes_to_a_file(run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.svg"
    assert main(["timeline", str(run_dir), "--format", "svg", "--out", str(out), "--host", "h2"]) == 0
    drawing = out.read_text(encoding="utf-8")
    assert drawing.startswith("<svg ")
    assert "h2 -&gt; h1" in drawing
    assert "h1 -&gt; h2" not in drawing
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--host", "h9"], "tb: history: --host: no such host; found 'h9'; allowed: h1, h2\n"),
        (["--slot", "3"], ("tb: history: --slot: the history has no slots; found 3; allowed: a run with --set "
                          "trace=true\n")),
        (["--from", "2ms", "--to", "2ms"], ("tb: history: --to: an empty range; found 2.0000 ms; allowed: more than "
                                           "2.0000 ms\n")),
        (["--from", "x"], ("tb timeline: argument --from: found 'x'; allowed: a number with ns, us, ms, s or min, "
                           "as 2ms; 0ns to 86400s\n`tb timeline --help` shows how it is used\n")),
        (["--slot", "-1"], ("tb timeline: argument --slot: found '-1'; allowed: a whole number from 0 to 4294967295\n"
                           "`tb timeline --help` shows how it is used\n")),
        (["--qp", "7", "--host", "h1"], ("tb timeline: argument --host: not allowed with argument --qp\n`tb timeline "
                                        "--help` shows how it is used\n")),
        (["--out", "/nowhere/x"], ("tb: /nowhere/x: --out: cannot be written; found No such file or directory; "
                                  "allowed: a file in a folder that is there\n")),
    ],
)  # fmt: skip
def test_mistakes(words: list[str], text: str, run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", str(run_dir), *words]) == 64
    out, err = capsys.readouterr()
    assert (out, err) == ("", text)


def test_a_queue_pair_that_is_not_there(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", str(run_dir), "--qp", "7"]) == 64
    h1, h2 = PLAN.workers
    known = f"{h1.to_successor.qpn:#x} (h1 -> h2), {h1.from_predecessor.qpn:#x} (h1 <- h2), "
    known += f"{h2.to_successor.qpn:#x} (h2 -> h1), {h2.from_predecessor.qpn:#x} (h2 <- h1)"
    assert capsys.readouterr().err == f"tb: history: --qp: no such queue pair; found 0x7; allowed: {known}\n"


def test_a_range_behind_the_end(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", str(run_dir), "--from", "20s"]) == 64
    assert capsys.readouterr().err.startswith(
        "tb: history: --from: nothing happened so late; found 20.000 s; allowed: before "
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "{}: not a run directory; found no history.jsonl in it; allowed: as runs/latest"),
        ("", "{}/history.jsonl: the history is empty"),
        ('{"t":0,"node":"h1","event":"X"}\nnot json\n', ("{}/history.jsonl:2: cannot be read; found Expecting value: "
                                                        "line 1 column 1 (char 0)")),
        ("[]\n", "{}/history.jsonl:1: no record of a history; found no t, node and event"),
    ],
)  # fmt: skip
def test_what_is_no_history(content: str | None, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if content is not None:
        (tmp_path / "history.jsonl").write_text(content, encoding="utf-8")
    assert main(["timeline", str(tmp_path)]) == 64
    assert capsys.readouterr().err == f"tb: {text.format(tmp_path)}\n"


@pytest.mark.parametrize(
    ("event", "key", "value", "shown"),
    [
        ("MessagePosted", "message", None, "None, not a whole number"),
        ("MessageAggregated", "ring_id", "x", "'x', not a whole number"),
        ("NodeStarted", "role", [], "[], not text"),
    ],
)
def test_an_edited_record_is_named(
    event: str, key: str, value: object, shown: str, run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.loads(line) for line in (run_dir / "history.jsonl").read_text(encoding="utf-8").splitlines()]
    number = next(index for index, line in enumerate(lines) if line["event"] == event)
    assert key in lines[number]
    lines[number][key] = value
    (tmp_path / "history.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    assert main(["timeline", str(tmp_path)]) == 64
    text = f"tb: {tmp_path}/history.jsonl:{number + 1}: no record of a history; found {key} of {event}: {shown}\n"
    assert capsys.readouterr() == ("", text)


@pytest.mark.parametrize("form", ["text", "svg"])
def test_records_that_contradict_others_are_drawn_as_far_as_they_go(
    form: str, run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = load_history(run_dir).records
    moved = [  # to a node which has no lane for them
        event_with(record, node="s1") if isinstance(record.event, MessagePosted | MessageAcked) else record
        for record in records
    ]
    write_history(tmp_path / "history.jsonl", moved)
    assert main(["timeline", str(tmp_path), "--format", form]) == 0


def test_a_state_of_a_slot_that_nobody_knows_is_drawn(tmp_path: Path) -> None:
    plan = rack_plan(2, job={"size_bytes": 40_000, "message_packets": 4})
    history = simulate(make_plan(replace(plan.scenario, trace=True)))
    unknown = [event_with(record, next="ajar") if held(record, "next") == "open" else record for record in history]
    write_history(tmp_path / "history.jsonl", unknown)
    out = tmp_path / "run.svg"
    assert main(["timeline", str(tmp_path), "--format", "svg", "--out", str(out)]) == 0
    assert "ajar" in out.read_text(encoding="utf-8")


def test_a_cut_history_is_drawn_and_said_to_be_cut(
    run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (run_dir / "history.jsonl").read_bytes()
    (tmp_path / "history.jsonl").write_bytes(whole[: whole.index(b"\n", 5000) + 20])
    lines = whole[:5000].count(b"\n") + 1
    assert main(["timeline", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    cut = f"the history is cut after line {lines}; what came later is not drawn"
    assert err == f"tb: {tmp_path}/history.jsonl: {cut}\n"
    assert out.startswith("2 hosts, s1; 0.0000")


def test_a_slot_that_no_packet_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = rack_plan(2, job={"size_bytes": 40_000, "message_packets": 4})
    write_history(tmp_path / "history.jsonl", simulate(make_plan(replace(plan.scenario, trace=True))))
    assert main(["timeline", str(tmp_path), "--slot", "99"]) == 64
    text = "tb: history: --slot: no such slot; found 99; allowed: 0 .. 15, those that packets touched\n"
    assert capsys.readouterr().err == text
    assert main(["timeline", str(tmp_path), "--slot", "5"]) == 0
    out = capsys.readouterr().out
    assert "s1 slot 5; open for " in out
    assert "h1 ->" not in out
