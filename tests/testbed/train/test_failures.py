"""Trainings that cannot go on, through the real commands and in both worlds: they end in bounded time, every rank and
the verdict know why, and nothing is left."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.testbed.train.calls import PROGRAM, ROOT, Training, nothing_is_left, root, tb

EMULATED = pytest.param("emulated", marks=[root, pytest.mark.root, pytest.mark.mininet])
CUT = ("--set", "faults=[{kind: link_down, name: cut, links: [h2-s1], from: 1ms}]")
KILL = ("--set", "faults=[{kind: kill, name: kill, node: s1, from: 1ms}]")
SOON = ("--set", "transport.timeout=12", "--set", "transport.retry_count=2")
SUMS = ("sum:20000", "sum:20000", "sum:20000")
LONGEST_S = 90
"""on a busy machine; none of the limits below is longer than 5 s"""


def both_worlds(*cases, emulated, late=()):
    """`emulated`: the case that `./tb test` tries between namespaces; the others there, and those of `late`, are for
    CI."""
    return pytest.mark.parametrize(("world", *cases[0]), [
        pytest.param(world, *case, marks=marks, id=f"{world}-{number}")
        for number, case in enumerate(cases[1:])
        for world, marks in (
            ("simulated", [pytest.mark.minutes] if number in late else []),
            ("emulated", [*EMULATED.marks, *([] if number == emulated else [pytest.mark.minutes])]),
        )
    ])  # fmt: skip


@both_worlds(
    ("program", "options", "told"),
    (("sum:1000", "crash@1", "sum:1000"), (), "rank 1 ended: exit code 1: ZeroDivisionError: a mistake of the script"),
    (("sum:1000", "kill@0", "sum:1000"), (), "rank 0 ended: signal 9"),
    (("sum:1000", "hang@1", "sum:1000"), ("--timeout", "2s"), "within 2 s rank 1 did not post collective 1"),
    (("sum:1000", "sum:5@0", "sum:6@1"), (), "collective 1 differs: rank 0 posted all_reduce of 5 float32 (sum); rank"),
    (("sum:1000", "gone@1", "sum:1000"), (), "rank 1 ended after 1 collective, and rank 0 waits for it in collective"),
    (("gone@1", "sum:1000"), (), "rank 1 ended after 0 collectives, and rank 0 waits for it in collective 0"),
    emulated=0,
    late=[2],
)
def test_a_rank_that_fails_ends_the_others(tmp_path, world, program, options, told):
    training = Training(tmp_path, *program, world=world, options=options)
    assert training.code == 1
    verdict, detail = training.check("training")
    assert verdict == "fail"
    assert detail.startswith(told), detail
    heard = [f"{kind}: {told}" in training.err for kind in ("RuntimeError", "NetworkFailed")]
    assert any(heard), "a rank that lives hears it, where it waits or where it posts"
    assert training.check("no_leftovers")[0] == "pass"
    assert training.seconds < LONGEST_S
    nothing_is_left(training)


def test_a_rank_that_ends_without_a_word_when_all_is_summed_spoils_nothing(tmp_path):
    training = Training(tmp_path, "sum:1000", "gone@1", options=("--timeout", "60s"))
    assert training.code == 0
    assert training.check("training")[0] == "pass"
    assert training.seconds < LONGEST_S / 2
    nothing_is_left(training)


@both_worlds(
    ("scenario", "fault", "told"),
    ("rack", (*CUT, *SOON), "gave up with RETRY_EXC"),
    ("rack", (*KILL, *SOON), "gave up with RETRY_EXC"),
    ("switchml", CUT, {"simulated": "no sum came within 2 s of virtual time", "emulated": "did not bring the sum of"}),
    ("switchml", KILL, {"simulated": "no sum came within 2 s of virtual time", "emulated": "did not bring the sum of"}),
    emulated=0,
)
def test_a_network_that_fails_ends_the_training(tmp_path, world, scenario, fault, told):
    """Protocols over datagrams try for ever: there the time without a sum is what ends it."""
    options = (*fault, "--timeout", "5s", "--set", "time_limit=2s")
    training = Training(tmp_path, *SUMS, scenario=scenario, world=world, options=options)
    assert training.code == 1
    verdict, detail = training.check("training")
    assert verdict == "fail"
    assert (told if isinstance(told, str) else told[world]) in detail, detail
    for rank in range(2):
        assert f"[rank {rank}] RuntimeError: {detail}" in training.err
    assert training.check("liveness")[0] == "fail"
    assert training.check("no_leftovers")[0] == "pass"
    assert training.seconds < LONGEST_S
    nothing_is_left(training)


@pytest.mark.parametrize("world", ["simulated", EMULATED])
def test_a_script_that_never_sums_proves_nothing(tmp_path, world):
    training = Training(tmp_path, "store", world=world)
    assert training.code == 2
    verdict, detail = training.check("training")
    assert verdict == "unknown"
    assert detail.startswith("no rank posted a float32 all-reduce of sums: the network had nothing to do")
    nothing_is_left(training)


@pytest.mark.parametrize("scenario", ["jobs-8", "switchml-two-jobs"])
def test_a_fabric_with_several_jobs_is_refused_before_a_rank_starts(tmp_path, scenario):
    done = tb("train", scenario, "--world", "simulated", "--out", str(tmp_path / "run"), "--", PROGRAM, "print:here")
    assert done.returncode == 64
    assert "a training has the fabric for itself" in done.stderr
    assert "here" not in done.stdout


def test_a_second_training_on_one_fabric_is_told_and_does_not_harm_the_first(tmp_path):
    place, run_dir = tmp_path / "place", tmp_path / "run"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "400"}
    words = ["up", "rack", "--world", "simulated", "--set", "topology.hosts=2", "--place", str(place)]
    up = subprocess.Popen(
        [sys.executable, "-P", "-m", "testbed", *words, "--out", str(run_dir)], env=environment, stdout=subprocess.PIPE
    )

    def training(*program):
        found = {"PYTHONPATH": str(place / "site"), "INA_SOCKET": str(place / "ranks.sock"), "WORLD_SIZE": "2"}
        return [
            subprocess.Popen(
                [sys.executable, PROGRAM, *program], env={**os.environ, **found, "RANK": str(rank)},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for rank in range(2)
        ]  # fmt: skip

    try:
        deadline = time.monotonic() + 60
        while not (place / "site").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        first = training("sum:100", "print:joined", "wait", "sum:2000")
        for rank in first:
            assert rank.stdout.readline() == "joined\n"
        for number, rank in enumerate(training("sum:100")):
            _, errors = rank.communicate(timeout=60)
            assert rank.returncode == 1
            assert f"NetworkFailed: rank {number} is there already: one training at a time" in errors
        for rank in first:
            rank.send_signal(signal.SIGINT)
        for rank in first:
            _, errors = rank.communicate(timeout=60)
            assert rank.returncode == 0, errors
        assert tb("down", "--place", str(place)).returncode == 0
        up.communicate(timeout=60)
    finally:
        up.kill()
    assert up.returncode == 0
    assert "2 ranks posted the same 2 all-reduces, and ended in order" in (run_dir / "result.json").read_text()


def test_a_training_that_is_asked_to_end_leaves_nothing(tmp_path):
    words = ["train", "rack", "--world", "simulated", "--set", "topology.hosts=2", "--out", str(tmp_path / "run")]
    training = subprocess.Popen(
        [sys.executable, "-P", "-m", "testbed", *words, "--", PROGRAM, "print:here", "hang"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    # Signs of life may come before.
    place = next(line for line in training.stderr if line.endswith("/ranks.sock\n")).split()[-1]
    place = place.removesuffix("/ranks.sock")
    assert os.path.isdir(place)
    training.terminate()
    _, told = training.communicate(timeout=60)
    assert training.returncode == 130, told
    assert not os.path.exists(place)
