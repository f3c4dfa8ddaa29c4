"""The processes of a hunt."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from testbed.hunt.judge import Machines
from testbed.hunt.runner import CHUNK, Prey, run_hunt
from testbed.hunt.state import ChunkStore

_LONG_S = 20
_SOON_S = 60


def _works_for_long(folder: Path, config: Any) -> Any:
    (folder / f"began-{os.getpid()}").touch()
    time.sleep(_LONG_S)
    (folder / f"ended-{os.getpid()}").touch()
    os._exit(1)


def test_a_hunt_that_is_broken_off_waits_for_no_schedule(tmp_path: Path) -> None:
    def break_off() -> None:
        deadline = time.monotonic() + _SOON_S
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=break_off)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_hunt(Prey(1, 4 * CHUNK), 2, ChunkStore(), machines=Machines(create=partial(_works_for_long, tmp_path)))
    thread.join()
    began = [int(file.name.partition("-")[2]) for file in tmp_path.glob("began-*")]
    assert len(began) == 2
    assert not list(tmp_path.glob("ended-*"))
    assert not any(Path(f"/proc/{pid}").exists() for pid in began)
