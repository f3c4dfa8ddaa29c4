import json
import os
import signal
import time

import pytest

from testbed.doctor import Probe, as_json, as_lines, probe_all, probes, require
from testbed.doctor.host_checks import check_mininet
from testbed.doctor.isolation import run_check, run_isolated
from testbed.doctor.model import ProbeFailed, ProbeSpec
from testbed.kernel.namespaces import namespace_inode
from tests.support.emulated import needs_root
from workloads.errors import HostCapabilityError


def refuse() -> str:
    raise ProbeFailed("it is Sunday")


REFUSING = ProbeSpec("sunday", "work on Sundays", refuse, "rest", "wait until Monday")


def test_a_check_never_raises() -> None:
    def leave() -> str:
        raise SystemExit("gone")

    assert run_check(lambda: "fine") == (True, "fine")
    assert run_check(refuse) == (False, "it is Sunday")
    assert run_check(leave) == (False, "gone")
    assert run_check(lambda: str(1 // 0)) == (False, "integer division or modulo by zero")


def test_a_missing_capability_names_itself_and_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "PROBES", (REFUSING,))
    with pytest.raises(HostCapabilityError) as caught:
        require(["sunday"])
    assert str(caught.value) == "this machine lacks work on Sundays (it is Sunday); wait until Monday"
    assert caught.value.exit_code == 3


def test_an_unknown_probe_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        require(["no-such-probe"])


def test_names_are_unique_and_every_row_says_what_then() -> None:
    names = [spec.name for spec in probes.PROBES]
    assert len(set(names)) == len(names)
    assert all(spec.title and spec.instead and spec.remedy for spec in probes.PROBES)


def test_table_and_json_say_the_same() -> None:
    rows = (
        Probe("a", "thing [a]", True, "here", "other", "get it"),
        Probe("b", "thing b", False, "gone", "other", "get it"),
    )
    assert json.loads(json.dumps(as_json(rows)))[1] == {
        "name": "b",
        "title": "thing b",
        "ok": False,
        "detail": "gone",
        "instead": "other",
        "remedy": "get it",
    }
    lines = [line for line in as_lines(rows, 120) if "thing" in line]
    assert "yes" in lines[0]
    assert "thing [a]" in lines[0]
    assert "get it" not in lines[0]
    assert "no" in lines[1]
    assert "other" in lines[1]
    assert "get it" in lines[1]


def test_mininet_without_mnexec_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mininet")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert run_check(check_mininet) == (False, "no program mnexec in PATH")


class TestIsolated:
    pytestmark = needs_root

    def test_the_check_has_a_namespace_of_its_own(self) -> None:
        ok, detail = run_isolated(lambda: str(namespace_inode()))
        assert ok
        assert int(detail) != namespace_inode()

    def test_a_crash_and_a_hang_are_answers_too(self) -> None:
        expected = (False, "no answer within 0.2 s, or the probe crashed")
        assert run_isolated(lambda: str(os.kill(os.getpid(), signal.SIGKILL)), 0.2) == expected
        began = time.monotonic()
        assert run_isolated(lambda: str(time.sleep(60)), 0.2) == expected
        assert time.monotonic() - began < 5

    def test_the_exit_code_of_the_kernel_becomes_words(self) -> None:
        def no_such_qdisc() -> str:
            from pyroute2 import IPRoute

            with IPRoute() as netlink:
                netlink.tc("add", "htb", 999_999, 0x1_0000)
            return "?"

        assert run_isolated(no_such_qdisc) == (False, "the kernel says: No such device")

    def test_all_probes_answer_and_leave_nothing(self) -> None:
        before = os.listdir("/sys/class/net")
        answers = probe_all()
        assert [answer.name for answer in answers] == [spec.name for spec in probes.PROBES]
        assert all(answer.detail for answer in answers)
        assert os.listdir("/sys/class/net") == before
        by_name = {answer.name: answer.ok for answer in answers}
        assert by_name["namespaces"], "we are root"

    def test_without_the_right_the_answer_says_so(self) -> None:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.setuid(65_534)
                ok, detail = run_isolated(lambda: "?")
                status = 0 if (ok, detail) == (False, "no network namespace: Operation not permitted") else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
