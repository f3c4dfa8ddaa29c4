"""What the keeper of an emulated lab is asked: as JSON and back, and as `power.py` writes it by hand."""

from __future__ import annotations

import socket
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from testbed.lab.agent.protocol import decode, encode, failure, success
from testbed.lab.agent.requests import Request, read_answer, read_request, write_request
from testbed.lab.emulated.messages import KINDS, CycleHost, Keeping, ShowPids, TakeDown
from testbed.lab.emulated.power import main
from workloads.codec import PLAIN


@pytest.mark.parametrize("request_", [TakeDown(), CycleHost("h1"), CycleHost("f1", ""), ShowPids()])
def test_a_request_comes_out_as_it_went_in(request_: Request[Any]) -> None:
    assert read_request(decode(encode(write_request(request_))), KINDS) == request_


def test_its_answers_are_values_too() -> None:
    assert read_answer(ShowPids(), {"h1": 5}) == {"h1": 5}
    for said in (Keeping("/run/lab"), Keeping(error={"type": "LabError"})):
        assert PLAIN.decode(Keeping, decode(encode(PLAIN.encode_fields(said)))) == said


@pytest.mark.parametrize(("answer", "status"), [(success(None), 0), (failure("not understood: no"), 75)])
def test_power_speaks_as_requests_are_written(tmp_path: Path, answer: dict[str, Any], status: int) -> None:
    heard = []
    with socket.socket(socket.AF_UNIX) as keeper:
        keeper.bind(str(tmp_path / "keeper.sock"))
        keeper.listen(1)
        keeper.settimeout(30)

        def serve() -> None:
            with keeper.accept()[0] as connection:
                heard.append(read_request(decode(connection.recv(4096)), KINDS))
                connection.sendall(encode(answer))

        thread = Thread(target=serve)
        thread.start()
        assert main([str(tmp_path), "h2"]) == status
        thread.join(30)
    assert heard == [CycleHost("h2")]
