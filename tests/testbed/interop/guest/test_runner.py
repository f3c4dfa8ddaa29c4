"""The guest's loop over cases, and the devices it finds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from testbed.interop.guest import runner
from testbed.interop.guest.session import CancelSign
from testbed.interop.protocol import CaseRequest, CaseResult, Mailbox, Opened, QpNames
from tests.support.fake_modules import install_fake


@pytest.fixture
def handler(monkeypatch):
    """A kind of case whose session does what a test says."""
    made = SimpleNamespace(happened=[], run=lambda request, cancelled: CaseResult(request.case), mailbox=None)

    class Session:
        names = (QpNames(1, 2),)

        def run(self, request, cancelled):
            made.happened.append(("run", request.case))
            return made.run(request, cancelled)

        def close(self):
            made.happened.append("close")
            raise RuntimeError("a device that is gone already")

    made.open_session = lambda request: Session()
    install_fake(monkeypatch, "fake_handler", open_session=lambda request: made.open_session(request))
    monkeypatch.setitem(runner._HANDLERS, "allreduce", "fake_handler")
    return made


def ask(mailbox, number, start=True):
    request = CaseRequest(f"case {number}", "allreduce", 1.0)
    mailbox.put(number, "open", request)
    if start:
        mailbox.put(number, "start", request)


def serve(mailbox, monkeypatch, last):
    """Until the result of case `last` is there."""
    put = Mailbox.put

    def put_and_stop(self, case, what, value):
        put(self, case, what, value)
        if (case, what) in ((last, "result"), (last, "opened")) and (what == "result" or value.error):
            put(self, None, "stop", {})

    monkeypatch.setattr(Mailbox, "put", put_and_stop)
    runner.serve(mailbox)


def test_cases_are_served_in_order_and_closed(handler, tmp_path, monkeypatch):
    mailbox = Mailbox(tmp_path)
    ask(mailbox, 2)
    ask(mailbox, 1)
    serve(mailbox, monkeypatch, 2)
    assert handler.happened == [("run", "case 1"), "close", ("run", "case 2"), "close"]
    assert mailbox.take(1, "opened", Opened) == Opened("", (QpNames(1, 2),))
    assert [mailbox.take(n, "result", CaseResult).error for n in (1, 2)] == ["case 1", "case 2"]


def test_a_case_that_cannot_open_or_run_says_why_and_the_next_one_goes_on(handler, tmp_path, monkeypatch, capfd):
    mailbox, working = Mailbox(tmp_path), handler.open_session

    def open_session(request):
        if request.case == "case 1":
            raise OSError("no rxe0")
        return working(request)

    def run(request, cancelled):
        if request.case == "case 2":
            raise ValueError("too bad")
        return CaseResult("")

    handler.open_session, handler.run = open_session, run
    for number in (1, 2, 3):
        ask(mailbox, number)
    serve(mailbox, monkeypatch, 3)
    assert mailbox.take(1, "opened", Opened) == Opened("OSError: no rxe0")
    assert [mailbox.take(n, "result", CaseResult) for n in (2, 3)] == [
        CaseResult("ValueError: too bad"),
        CaseResult(""),
    ]
    assert handler.happened.count("close") == 2
    assert "Traceback" in capfd.readouterr().err


def test_a_case_may_be_cancelled_before_its_start(handler, tmp_path, monkeypatch):
    mailbox = Mailbox(tmp_path)
    ask(mailbox, 1, start=False)
    mailbox.put(1, "cancel", {})
    serve(mailbox, monkeypatch, 1)
    assert mailbox.take(1, "result", CaseResult) == CaseResult("cancelled before its start")
    assert handler.happened == ["close"]


def test_a_sign_is_seen_and_news_are_told_once(tmp_path):
    mailbox = Mailbox(tmp_path)
    sign = CancelSign(mailbox, 4)
    assert not sign()
    sign.announce_done()
    assert mailbox.has(4, "done")
    mailbox.path(4, "done").unlink()
    sign.announce_done()
    assert not mailbox.has(4, "done")
    mailbox.put(4, "cancel", {})
    assert CancelSign(mailbox, 4)()


def test_devices_are_found_by_name_with_the_gid_of_their_address(tmp_path):
    def device(name, gids, interface="lo"):
        port = tmp_path / name / "ports" / "1"
        (port / "gids").mkdir(parents=True)
        (port / "gid_attrs" / "ndevs").mkdir(parents=True)
        for index, gid in enumerate(gids):
            (port / "gids" / str(index)).write_text(gid + "\n")
            (port / "gid_attrs" / "ndevs" / str(index)).write_text(interface + "\n")

    link_local, ipv4 = "fe80:0000:0000:0000:0049:4eff:fe41:0001", "0000:0000:0000:0000:0000:ffff:0a4d:00{:02x}"
    for number in (10, 2, 0):
        device(f"rxe{number}", [link_local] * (number % 4) + [ipv4.format(number)])
    device("rxe7", [link_local])
    found = runner.find_devices(tmp_path)
    assert [one.device for one in found] == ["rxe0", "rxe2", "rxe10"]
    assert [(one.ip, one.gid_index) for one in found] == [
        (bytes((10, 77, 0, 0)), 0), (bytes((10, 77, 0, 2)), 2), (bytes((10, 77, 0, 10)), 2),
    ]  # fmt: skip
    assert found[0].mac == bytes(6)
