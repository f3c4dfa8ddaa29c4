"""Names through a folder."""

from __future__ import annotations

import json

import pytest

from workloads.errors import LabError, ScenarioError
from workloads.verbs.exchange import FolderExchange


class Clock:
    """Sleeping is what makes time pass; `then` happens on the way."""

    def __init__(self, then=None):
        self.now, self.then = 0.0, then or {}

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        for at in [at for at in self.then if at <= self.now]:
            self.then.pop(at)()


def test_everybody_gets_what_the_others_published(tmp_path):
    ranks = [FolderExchange(tmp_path, 3, rank) for rank in range(3)]
    clock = Clock({0.5: lambda: ranks[2].publish("names", {"send_qpn": 9})})
    waiting = FolderExchange(tmp_path, 3, 4, clock=clock, sleep=clock.sleep)
    ranks[0].publish("names", {"send_qpn": 7})
    assert not ranks[0].there("names", (0, 2))
    assert waiting.gather("names", (0, 2), 5) == {0: {"send_qpn": 7}, 2: {"send_qpn": 9}}
    assert 0.5 <= clock.now < 1


def test_rings_and_stages_do_not_meet(tmp_path):
    FolderExchange(tmp_path, 3, 0).publish("names", {})
    assert not FolderExchange(tmp_path, 4, 1).there("names", (0,))
    assert not FolderExchange(tmp_path, 3, 1).there("connected", (0,))


def test_those_who_do_not_come_are_named(tmp_path):
    clock = Clock()
    one = FolderExchange(tmp_path, 3, 1, clock=clock, sleep=clock.sleep)
    one.publish("names", {})
    with pytest.raises(LabError) as caught:
        one.gather("names", (0, 1, 2), 30)
    assert str(caught.value) == f"rank 1: no names of rank 0, 2 in {tmp_path} within 30 s"


def test_a_file_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    """The rename comes after the last byte."""
    seen = []
    exchange = FolderExchange(tmp_path, 3, 1)
    rename = type(tmp_path).rename
    monkeypatch.setattr(
        type(tmp_path),
        "rename",
        lambda old, new: (seen.append((json.loads(old.read_text()), new.exists())), rename(old, new))[1],
    )
    exchange.publish("names", {"rkey": 5})
    assert seen == [({"rkey": 5}, False)]


def test_a_used_folder_and_a_missing_one_are_refused(tmp_path):
    FolderExchange(tmp_path, 3, 1).publish("names", {})
    with pytest.raises(ScenarioError) as caught:
        FolderExchange(tmp_path, 3, 1)
    assert str(caught.value) == (
        "tb worker: --exchange: the folder holds names of rank 1 of ring 3 from a job before; "
        f"found {tmp_path}; allowed: an empty folder for every job"
    )
    with pytest.raises(ScenarioError, match="no such folder; found /nowhere"):
        FolderExchange(type(tmp_path)("/nowhere"), 3, 1)
