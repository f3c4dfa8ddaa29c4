"""The order of things around a guest that is none."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from testbed.history import read_history
from testbed.history.verdict import Verdict
from testbed.interop import guest_cases, suite
from testbed.interop.cases import Case, choose_cases
from testbed.interop.judging import CaseOutcome
from testbed.interop.peercases import PeerCase
from tests.support.records import a_record
from workloads.errors import InternalError

CASES = choose_cases(("loss/middle", "peer/loss-nak", "plain/shift-6-hosts-lossy"))


@pytest.fixture
def fake(monkeypatch):
    """What happened, in order, and what each case comes to."""
    made = SimpleNamespace(happened=[], opened=[], verdicts={}, folders=[], ended=0)

    @contextlib.contextmanager
    def boot_guest(image, devices, run_dir, run):
        made.happened.append(("boot", devices))
        made.folders.append(run_dir.parent)
        assert (run_dir.name, run) == ("guest-1", f"{run_dir.parent.name}-1")
        try:
            yield SimpleNamespace(booted_s=2.0, facts=SimpleNamespace(versions={"kernel": "6.1"}))
        finally:
            made.ended += 1

    def serve(guest, number, case, seed, folder):
        made.happened.append((number, case.id, seed))
        (folder / "s1.pcapng").write_bytes(b"capture")
        records = [a_record(2, "s1", "B"), a_record(1, "s1", "A")]
        if isinstance(made.verdicts.get(case.id), Exception):
            raise made.verdicts[case.id]
        return SimpleNamespace(case=case, history=sorted(records, key=lambda r: r.t), records=records)

    def judge(run):
        return CaseOutcome(run.case.id, made.verdicts.get(run.case.id, Verdict.PASS), "", (), 0, None, 0.1)

    monkeypatch.setattr(suite, "choose_platform", lambda where, folder, say: "qemu" if where == "auto" else where)
    monkeypatch.setattr(suite, "ensure_packages", lambda say, **more: made.happened.append("packages"))
    monkeypatch.setattr(suite, "prepare_image", lambda work, say: SimpleNamespace(versions={"busybox": "1.35"}))
    monkeypatch.setattr(suite, "has_rxe", lambda: False)
    monkeypatch.setattr(suite, "package_version", lambda package: f"{package}-1")
    monkeypatch.setattr(suite, "boot_guest", boot_guest)

    def opened(guest, number, case, seed):
        made.opened.append((number, case.id, seed))

    monkeypatch.setattr(guest_cases, "open_case", opened)
    monkeypatch.setattr(guest_cases, "open_peer_case", opened)
    monkeypatch.setattr(guest_cases, "run_case", serve)
    monkeypatch.setattr(guest_cases, "run_peer_case", serve)
    monkeypatch.setattr(guest_cases, "judge_case", judge)
    monkeypatch.setattr(guest_cases, "judge_peer", judge)
    return made


def test_one_boot_serves_all_rounds_with_seeds_of_their_own(fake):
    told = []
    result = suite.run_suite(CASES, seed=5, repeat=2, say=lambda text: None, tell=told.append)
    ids = [case.id for case in CASES]
    assert [isinstance(case, PeerCase) for case in CASES] == [False, False, True]
    assert fake.happened == ["packages", ("boot", 6), *[(n + 1, ids[n % 3], 5 + n // 3) for n in range(6)]]
    assert [outcome.case for outcome in told] == ids * 2
    assert result.outcomes == tuple(told)
    assert result.verdict is Verdict.PASS
    assert result.environment == {
        "busybox": "1.35", "kernel": "6.1", "rdma-core": "rdma-core-1", "qemu": "qemu-system-x86-1",
        "where": "qemu", "guests": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "merged", "code"),
    [
        ({}, Verdict.PASS, 0),
        ({"loss/middle": Verdict.UNKNOWN}, Verdict.UNKNOWN, 2),
        ({"loss/middle": Verdict.UNKNOWN, "peer/loss-nak": Verdict.FAIL}, Verdict.FAIL, 1),
    ],
)
def test_the_worst_case_is_the_verdict_and_all_run(fake, verdicts, merged, code):
    fake.verdicts = verdicts
    result = suite.run_suite(CASES, say=lambda text: None)
    assert (result.verdict, result.verdict.exit_code, len(result.outcomes)) == (merged, code, 3)
    assert result.as_json()["verdict"] == str(merged)


def test_no_case_proves_nothing():
    assert suite.SuiteResult(()).verdict is Verdict.UNKNOWN


def test_without_keep_nothing_is_left(fake):
    suite.run_suite(CASES[:1], say=lambda text: None)
    assert not fake.folders[0].exists()
    assert fake.ended == 1


def test_keep_keeps_histories_and_captures(fake, tmp_path):
    suite.run_suite(CASES[:1], say=lambda text: None, keep=tmp_path / "runs" / "interop")
    folder = tmp_path / "runs" / "interop" / "0001-loss-middle"
    assert [record.name for record in read_history(folder / "history.jsonl")] == ["A", "B"]
    assert (folder / "s1.pcapng").read_bytes() == b"capture"


def test_a_guest_that_dies_ends_the_suite_in_order(fake):
    fake.verdicts = {"loss/middle": InternalError("the guest ended before case loss/middle to open")}
    with pytest.raises(InternalError, match="the guest ended before"):
        suite.run_suite([Case("loss/middle"), *CASES[1:]], say=lambda text: None)
    assert fake.ended == 1
    assert not fake.folders[0].exists()


def test_the_next_case_is_opened_before_this_one_is_judged(fake, monkeypatch):
    seen = []
    judge = guest_cases.judge_case
    monkeypatch.setattr(guest_cases, "judge_case", lambda run: seen.append(fake.opened[-1][0]) or judge(run))
    suite.run_suite(CASES[:2], seed=4, say=lambda text: None)
    assert seen == [2, 2]
    assert {(number, seed) for number, _, seed in fake.opened} == {(1, 4), (2, 4)}
    assert fake.opened[1][1] == CASES[1].id


def test_on_the_hosts_own_kernel_there_is_one_guest_and_no_image(fake, monkeypatch):
    boot = suite.boot_guest
    monkeypatch.setattr(
        suite, "native_boot", lambda devices, platform: lambda run_dir, run: boot(platform, devices, run_dir, run)
    )
    monkeypatch.setattr(suite, "prepare_image", None)
    monkeypatch.setattr(suite, "has_rxe", lambda: True)
    result = suite.run_suite(CASES[:1] * 40, say=lambda text: None, where="initial")
    assert fake.happened[:2] == ["packages", ("boot", 4)]
    assert (result.environment["where"], result.environment["guests"], len(result.outcomes)) == ("initial", "1", 40)
    assert "qemu" not in result.environment
