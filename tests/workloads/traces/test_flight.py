"""Dumps of flight recorders: written and read, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from workloads.errors import ScenarioError
from workloads.traces.flight import COMPLETED, SCHEDULED, FlightDump, FlightGroup, FlightOp, read_dumps, written_dump

_GROUP = FlightGroup("0", "default_pg", (0, 1), 2, 1)
_OPS = (
    FlightOp("0", 1, "all_reduce", COMPLETED, -1, ((5,),), ((5,),), ("Float",), 10, 11, 12),
    FlightOp("0", 2, "all_reduce", SCHEDULED, -1, ((2, 3),), ((2, 3),), ("Long",), 20),
    FlightOp("0", 1, "recv", SCHEDULED, 0, ((4,),), ((4,),), ("Float",), 30),
)


class _Harmful:
    """What a pickle of an enemy would run."""

    def __reduce__(self) -> Any:
        return print, ("loading it ran this",)


def _document(**more: Any) -> dict[str, Any]:
    entry = {
        "process_group": ("0", "default_pg"), "collective_seq_id": 1, "p2p_seq_id": 0, "state": "completed",
        "profiling_name": "nccl:all_reduce", "input_sizes": [[5]], "output_sizes": [[5]], "input_dtypes": ["Float"],
        "time_created_ns": 7, **more.pop("entry", {}),
    }  # fmt: skip
    return {"version": "2.4", "pg_config": {}, "pg_status": {}, "entries": [entry], **more}


def _read(folder: Path, document: object) -> FlightDump:
    (folder / "nccl_trace_rank_0").write_bytes(pickle.dumps(document))
    (dump,) = read_dumps(folder)
    return dump


def test_what_was_written_is_read(tmp_path: Path) -> None:
    dump = FlightDump(1, {"0": _GROUP}, _OPS)
    (tmp_path / "rank_1").write_bytes(written_dump(dump))
    (tmp_path / "notes").write_text("no dump")
    assert read_dumps(tmp_path) == [dump]


def test_types_of_tensors_have_the_names_of_torch(tmp_path: Path) -> None:
    op = FlightOp("0", 1, "all_reduce", COMPLETED, dtypes=("bfloat16", "float32"))
    (tmp_path / "0").write_bytes(written_dump(FlightDump(0, {"0": _GROUP}, (op,))))
    assert read_dumps(tmp_path)[0].ops[0].dtypes == ("BFloat16", "Float")


def test_json_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "trace_3.json").write_text(json.dumps(_document()))
    (dump,) = read_dumps(tmp_path)
    assert (dump.rank, [op.number for op in dump.ops]) == (3, [1])


def test_a_retired_operation_is_complete(tmp_path: Path) -> None:
    """Gloo leaves the state at scheduled."""
    dump = _read(tmp_path, _document(entry={"state": "scheduled", "retired": True}))
    assert dump.ops[0].state == COMPLETED


def test_the_place_is_outside_of_torch(tmp_path: Path) -> None:
    frames = [{"filename": "/lib/torch/distributed/c10d.py", "line": 9}, {"filename": "/home/me/train.py", "line": 41}]
    assert _read(tmp_path, _document(entry={"frames": frames})).ops[0].place == "train.py:41"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (_Harmful(), "is no dump of a flight recorder: it names builtins.print"),
        ([1], "is not what a dump has there; found \\[1\\]; allowed: a table"),
        (_document(version="3.0"), "version: has another version; found 3.0"),
        (_document(entry={"state": "lost"}), "entries.0.state: .* allowed: scheduled, started, completed"),
        (_document(entry={"process_group": "0"}), "entries.0.process_group: "),
        (_document(entry={"collective_seq_id": "1"}), "entries.0.collective_seq_id: .* a number"),
        (_document(entry={"input_sizes": [5]}), "entries.0.input_sizes: .* lists of sizes"),
        (_document(pg_config={"0": {"desc": "", "ranks": "__import__('os')"}}), "pg_config.0.ranks: "),
        (_document(pg_status={"0": 3}), "pg_status.0: "),
    ],
)
def test_what_is_no_dump_is_refused(
    tmp_path: Path, document: object, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ScenarioError, match=told):
        _read(tmp_path, document)
    assert capsys.readouterr().out == "", "nothing of a file runs"


def test_a_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rank_0").write_bytes(written_dump(FlightDump(0, {"0": _GROUP}, _OPS))[:-20])
    with pytest.raises(ScenarioError, match="rank_0: is no dump of a flight recorder"):
        read_dumps(tmp_path)


def test_two_files_of_a_rank_and_none_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no dump is there"):
        read_dumps(tmp_path)
    for name in ("a_0", "b_0"):
        (tmp_path / name).write_bytes(written_dump(FlightDump(0)))
    with pytest.raises(ScenarioError, match="two files are of one rank; found b_0 for rank 0"):
        read_dumps(tmp_path)
