"""`tb train` as a person calls it, with ranks that need no torch."""

import os
import re
import subprocess
import sys
import time

import pytest

from tests.testbed.train.calls import PROGRAM, ROOT, Training, complaints, nothing_is_left, root, tb


def test_a_training_is_judged_and_says_what_did_not_go_through_the_network(tmp_path):
    training = Training(
        tmp_path, "print:hello", "sum:1000", "store", "step:1", "sum:9000", "step:2", scenario="rack-lossy",
        options=("--piece", "8kB"),
    )  # fmt: skip
    assert (training.code, complaints(training)) == (0, "")
    assert training.check("bit_exact") == (
        "pass", "all 2 workers hold the reference's bits after each of 2 all-reduces (6 pieces)",
    )  # fmt: skip
    assert training.check("training") == (
        "pass",
        (
            "2 ranks posted the same 2 all-reduces in 2 steps, and ended in order; not aggregated in the network: 1 "
            "barrier"
        ),
    )
    assert "[rank 0] hello\n" in training.out
    assert "[rank 1] hello\n" in training.out
    assert re.search(
        r"^tb: step [12]: [12] all-reduces, [\d.]+ [mu]s in the network so far$", training.out, re.MULTILINE
    )
    assert re.fullmatch(
        r"tb train \S+/run/scenario.yaml -- \S+ \S+/rank_program.py print:hello .*", training.result["replay"]
    )
    nothing_is_left(training)


def test_a_recorded_training_leaves_a_trace_with_its_verdict(tmp_path):
    trace = tmp_path / "trace"
    training = Training(tmp_path, "sum:1000", "sum:9000", options=("--record", str(trace)))
    assert (training.code, complaints(training)) == (0, "")
    assert sorted(path.name for path in trace.iterdir()) == ["collectives.csv", "training.0.et", "training.1.et"]
    assert trace.joinpath("collectives.csv").read_text().splitlines()[1:] == [
        "0,all_reduce,float32,all,4000", "1,all_reduce,float32,all,36000",
    ]  # fmt: skip
    again = Training(tmp_path, "sum:1000", options=("--record", str(trace)))
    assert again.code == 64
    assert "--record: is there already" in again.err


def test_a_crash_shows_the_traceback_and_ends_the_other_rank(tmp_path):
    training = Training(tmp_path, "sum:1000", "crash@1", "sum:1000")
    assert training.code == 1
    assert "[rank 1] Traceback (most recent call last):" in training.err
    assert "[rank 1] ZeroDivisionError: a mistake of the script" in training.err
    told = "rank 1 ended: exit code 1: ZeroDivisionError: a mistake of the script"
    assert training.check("training") == ("fail", told)
    assert f"RuntimeError: {told}" in training.err
    nothing_is_left(training)


@pytest.mark.parametrize(
    ("program", "options", "told"),
    [
        (("sum:1000", "kill@1", "sum:1000"), (), "rank 1 ended: signal 9"),
        pytest.param(
            ("hang@1", "sum:1000"),
            ("--timeout", "1s"),
            "within 1 s rank 1 did not post collective 0, all_reduce of 1,000",
            marks=pytest.mark.minutes,
        ),
        (("quit@1", "sum:1000"), (), "rank 1 ended after 0 collectives, and rank 0 waits for it in collective 0"),
        (
            ("sum:5@0", "sum:6@1"),
            (),
            "collective 0 differs: rank 0 posted all_reduce of 5 float32 (sum); rank 1 posted",
        ),
        (
            ("store@0", "sum:6@1"),
            (),
            "collective 0 differs: rank 0 posted barrier; rank 1 posted all_reduce of 6 float32",
        ),
    ],
)
def test_a_training_that_cannot_go_on_ends_in_bounded_time_with_the_reason(tmp_path, program, options, told):
    training = Training(tmp_path, *program, options=options)
    assert training.code == 1
    verdict, detail = training.check("training")
    assert verdict == "fail"
    assert detail.startswith(told), detail
    assert f"tb: training failed: {told}" in training.out
    assert training.seconds < 60
    nothing_is_left(training)


def test_a_dead_link_ends_the_training_with_the_reason_of_the_queue_pair(tmp_path):
    cut = "faults=[{kind: link_down, name: cut, links: [h2-s1], from: 1ms}]"
    options = ("--set", cut, "--set", "transport.timeout=10", "--set", "transport.retry_count=3")
    training = Training(tmp_path, *["sum:20000"] * 5, options=options)
    assert training.code == 1
    verdict, detail = training.check("training")
    assert verdict == "fail"
    assert re.match(r"the network failed at [\d.]+ ms of virtual time: ", detail)
    assert "gave up with RETRY_EXC" in detail
    assert "RuntimeError: the network failed at " in training.err


def test_a_script_that_never_sums_is_no_pass(tmp_path):
    training = Training(tmp_path, "store", "store")
    assert training.code == 2
    assert training.check("training") == (
        "unknown",
        (
            "no rank posted a float32 all-reduce of sums: the network had nothing to do; not aggregated in the "
            "network: 2 "
            "barrier"
        ),
    )


def test_a_program_that_never_joins_is_told_what_is_missing(tmp_path):
    run_dir = tmp_path / "run"
    process = tb(
        "train", "rack", "--world", "simulated", "--out", str(run_dir), "--", sys.executable, "-c", "print('no rank')"
    )
    assert process.returncode == 1
    assert 'its program ended without joining: does it call init_process_group("ina")?' in process.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("train", "rack"), ("tb train: COMMAND: is missing; allowed: what the ranks run, as: tb train rack -- python "
                            "train.py")),
        (("train", "rack", "--world", "simulated", "--", "/no/such"), ("tb train: COMMAND: no such program; found "
                                                                      "/no/such")),
        (("train", "rack", "--world", "lab", "--", "true"), "world: no training runs in this world; found lab"),
        (("train", "shift", "--world", "simulated", "--", "true"), ("job.protocol: a training cannot use this; found "
                                                                   "shift")),
        (("train", "rack", "--piece", "1 apple", "--", "true"), "found '1 apple'"),
        (("train", "rack", "--memory", "1kB", "--", "true"), "found '1kB'; allowed: 4KiB to 1024GiB"),
        (("down", "--place", "/tmp/nothing-of-ours"), ("tb down: no network is up; found no program listens in "
                                                      "/tmp/nothing-of-ours")),
        (("up", "rack", "--world", "simulated", "--place", "/tmp/" + "x" * 100), "--place: too long for a socket"),
        (("up", "rack", "--world", "simulated", "--place", "/no/such/place"),
            "--place: no such folder; found /no/such"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_call_is_named(tmp_path, words, told):
    out = () if words[0] == "down" else ("--out", str(tmp_path / "run"))
    process = tb(words[0], *out, *words[1:])
    assert process.returncode == 64
    assert told in process.stderr


@root
@pytest.mark.root
@pytest.mark.mininet
def test_the_same_training_over_real_packets(tmp_path):
    training = Training(tmp_path, "sum:90000", "step:1", "sum:777", scenario="rack-lossy", world="emulated")
    assert (training.code, complaints(training)) == (0, "")
    assert training.check("bit_exact")[0] == "pass"
    assert training.check("no_leftovers")[0] == "pass"
    nothing_is_left(training)


@root
@pytest.mark.root
@pytest.mark.mininet
def test_a_killed_switch_ends_a_training_over_real_packets(tmp_path):
    options = ("--set", "faults[0].from=0s", "--set", "transport.timeout=12", "--set", "transport.retry_count=2")
    training = Training(tmp_path, *["sum:20000"] * 500, scenario="switch-killed", world="emulated", options=options)
    assert training.code == 1
    verdict, detail = training.check("training")
    assert verdict == "fail"
    assert "gave up with RETRY_EXC" in detail
    nothing_is_left(training)


def test_ranks_come_to_a_network_that_stays_up_and_tb_down_ends_it(tmp_path):
    place, run_dir = tmp_path / "place", tmp_path / "run"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "400"}
    up = subprocess.Popen(
        [
            sys.executable, "-P", "-m", "testbed", "up", "rack", "--world", "simulated", "--set", "topology.hosts=2",
            "--place", str(place), "--out", str(run_dir),
        ],
        env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not (place / "site").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        second = tb("up", "rack", "--world", "simulated", "--place", str(place), "--out", str(tmp_path / "second"))
        assert (second.returncode, "a network is up already" in second.stderr) == (64, True)
        for _ in range(2):
            ranks = [
                subprocess.Popen(
                    [sys.executable, PROGRAM, "sum:100", "store", "sum:2000"],
                    env={**os.environ, "PYTHONPATH": str(place / "site"), "INA_SOCKET": str(place / "ranks.sock"),
                         "RANK": str(rank), "WORLD_SIZE": "2"},
                )
                for rank in range(2)
            ]  # fmt: skip
            assert [rank.wait(60) for rank in ranks] == [0, 0]
        down = tb("down", "--place", str(place))
        assert (down.returncode, down.stderr) == (0, "")
        out, _ = up.communicate(timeout=60)
    finally:
        up.kill()
    assert up.returncode == 0
    assert "torchrun --nproc-per-node 2 train.py" in out
    told = "2 ranks posted the same 4 all-reduces, and ended in order; not aggregated in the network: 2 barrier"
    assert told in (run_dir / "result.json").read_text()
    assert not place.exists()
