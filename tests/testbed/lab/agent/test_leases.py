"""Who may use what until when."""

from __future__ import annotations

import pytest

from testbed.lab.agent.leases import LeaseBook, LeaseRefused

_ANN, _BOB = "a" * 20, "b" * 20


def _book() -> LeaseBook:
    return LeaseBook(["host", "card fpga0"])


def test_a_lease_keeps_others_out_until_its_end() -> None:
    book = _book()
    lease = book.grant("card fpga0", "ann@a", _ANN, 60, now=1000)
    with pytest.raises(LeaseRefused) as told:
        book.grant("card fpga0", "bob@b", _BOB, 60, now=1059.9)
    assert (told.value.problem, told.value.lease) == ("card fpga0 is leased by ann@a", lease)
    assert book.grant("host", "bob@b", _BOB, 60, now=1001).owner == "bob@b"
    assert book.grant("card fpga0", "bob@b", _BOB, 60, now=1060).owner == "bob@b"


def test_who_shows_the_token_goes_on() -> None:
    book = _book()
    book.grant("host", "ann@a", _ANN, 60, now=1000)
    again = book.grant("host", "ann@a", _ANN, 60, now=1050)
    assert (again.since, again.end) == (1000, 1110)
    assert book.check("host", _ANN, now=1100) == again
    assert book.grant("host", "ann@a", _ANN, 1, now=1051).end == 1110, "a renewal makes it no shorter"
    with pytest.raises(LeaseRefused, match="leased by ann@a"):
        book.check("host", _BOB, now=1100)
    with pytest.raises(LeaseRefused, match="host is not leased; first: tb lab lease"):
        book.check("host", _ANN, now=1110)


def test_release_wants_the_token_and_breaking_says_whose_it_was() -> None:
    book = _book()
    book.grant("host", "ann@a", _ANN, 60, now=1000)
    with pytest.raises(LeaseRefused):
        book.release("host", _BOB, now=1001)
    broken = book.break_lease("host", now=1001)
    assert broken is not None
    assert broken.owner == "ann@a"
    assert book.break_lease("host", now=1001) is None
    assert book.release("host", _ANN, now=1001) is None
    book.grant("host", "bob@b", _BOB, 60, now=1002)
    released = book.release("host", _BOB, now=1003)
    assert released is not None
    assert book.holder("host", 1003) is None


def test_an_end_is_told_once() -> None:
    book = _book()
    book.grant("host", "ann@a", _ANN, 60, now=1000)
    assert book.expire(1059) == ()
    assert [lease.owner for lease in book.expire(1060)] == ["ann@a"]
    assert book.expire(1060) == ()


def test_it_survives_on_disk_without_what_proves_it() -> None:
    book = _book()
    book.grant("host", "ann@a", _ANN, 60, now=1000)
    entries = book.dump()
    assert _ANN not in str(entries)
    assert book.running(1001)[0].token_hash not in str(book.running(1001)[0].shown())
    other = _book()
    other.load(entries)
    assert other.check("host", _ANN, now=1059).owner == "ann@a"
    LeaseBook(["card x"]).load(entries)


@pytest.mark.parametrize(
    ("resource", "owner", "token", "seconds"),
    [("card y", "a", _ANN, 1), ("host", "", _ANN, 1), ("host", "a", "short", 1), ("host", "a", _ANN, 0),
     ("host", "a", _ANN, 1e9), ("host", "a\x1b", _ANN, 1)],
)  # fmt: skip
def test_what_is_no_request(resource: str, owner: str, token: str, seconds: float) -> None:
    with pytest.raises(LeaseRefused):
        _book().grant(resource, owner, token, seconds, now=0)


def test_a_lease_for_a_run_never_replaces_a_plain_one() -> None:
    book = _book()
    assert book.grant("host", "ann@a", _ANN, 60, 1000, "run").purpose == "run"
    assert book.grant("host", "ann@a", _ANN, 60, 1000).purpose == ""
    assert book.grant("host", "ann@a", _ANN, 60, 1000, "run").purpose == ""
