import json
import os
from pathlib import Path

import pytest

from testbed.kernel.ledger import (
    Entry,
    Ledger,
    LinkEntry,
    NamespaceEntry,
    PathEntry,
    ProcessEntry,
    QdiscEntry,
    known_runs,
    read_ledger,
)
from testbed.kernel.processes import identify

ENTRIES: list[Entry] = [
    ProcessEntry(12, 345, "shell h1"),
    NamespaceEntry(4026531840, "h1"),
    LinkEntry("h1-0.abcde", 4026531840),
    QdiscEntry("h1-0.abcde", 4026531840, "htb"),
    PathEntry("control.sock", "socket"),
]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def test_what_is_noted_can_be_read_at_once(state: Path, tmp_path: Path) -> None:
    ledger = Ledger.create("run-1", tmp_path)
    for number, entry in enumerate(ENTRIES, start=1):
        ledger.note(entry)
        assert ledger.entries() == ENTRIES[:number]
    owner, _ = read_ledger(state / "run-1")
    assert owner == ledger.owner
    assert owner is not None
    assert owner.process == identify(os.getpid())
    assert owner.run_dir == str(tmp_path)
    assert list(known_runs()) == [state / "run-1"]
    ledger.close()


def test_a_torn_last_line_is_no_entry(state: Path, tmp_path: Path) -> None:
    ledger = Ledger.create("run-1", tmp_path)
    ledger.note(ENTRIES[0])
    with (ledger.folder / "ledger.jsonl").open("ab") as file:
        file.write(b'{"kind":"path","name":"control.sock","type":"socket"}')
    assert ledger.entries() == ENTRIES[:1]
    ledger.close()


@pytest.mark.parametrize(
    "line", ["", "null", "[]", "{}", '{"kind":"link"}', '{"kind":"moon","name":"x"}', '{"kind":[]}', "\xff\x00"]
)
def test_a_line_that_is_no_entry_is_skipped(state: Path, tmp_path: Path, line: str) -> None:
    ledger = Ledger.create("run-1", tmp_path)
    with (ledger.folder / "ledger.jsonl").open("a", encoding="latin-1") as file:
        file.write(line + "\n")
    ledger.note(ENTRIES[1])
    assert ledger.entries() == ENTRIES[1:2]
    ledger.close()


def test_a_name_is_used_once(state: Path, tmp_path: Path) -> None:
    Ledger.create("run-1", tmp_path).close()
    with pytest.raises(FileExistsError, match="already a run run-1"):
        Ledger.create("run-1", tmp_path)


def test_no_folder_appears_without_its_owner_in_it(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    rename = Path.rename

    def spy(self: Path, target: Path) -> Path:
        first = (self / "ledger.jsonl").read_text().splitlines()[0]
        seen.append((target.exists(), json.loads(first)["kind"]))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", spy)
    Ledger.create("run-1", tmp_path).close()
    assert seen == [(False, "owner")]
