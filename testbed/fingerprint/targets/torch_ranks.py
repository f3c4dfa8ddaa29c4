"""A backend of torch.distributed: its ranks are processes of this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType

import numpy as np

from testbed.fingerprint.reducer import Array, Unusable
from testbed.fingerprint.targets import rank as rank_script
from testbed.fingerprint.targets.agreement import agreed
from testbed.fingerprint.targets.rank import HEAD, REPLY
from testbed.kernel.processes import die_with_parent
from testbed.train.ranks import free_port
from workloads.errors import HostCapabilityError, ScenarioError

__all__ = ["OWN_BACKEND", "TorchReducer"]

OWN_BACKEND = "ina"
_PROJECT = Path(__file__).resolve().parents[3]
_LOOK_S, _END_S, _LATE_S = 0.2, 20.0, 0.02


class TorchReducer:
    """A Reducer, and a context manager: the ranks run inside. `ina` runs over the network of a scenario in virtual
    time. Raises ScenarioError for a backend that does not start, HostCapabilityError without PyTorch."""

    def __init__(
        self, backend: str, ranks: int, elements: int, dtype: str, timeout_s: float, scenario: Sequence[str] = ()
    ) -> None:
        """`scenario`: its name and the words that change it, for `tb train`."""
        self.ranks, self.elements, self.dtype, self.provocations = ranks, elements, dtype, ranks + 1
        self._backend, self._timeout_s, self._scenario = backend, timeout_s, scenario
        self._processes: list[subprocess.Popen[bytes]] = []
        self._connections: dict[int, socket.socket] = {}

    def __enter__(self) -> TorchReducer:
        if importlib.util.find_spec("torch") is None:
            raise HostCapabilityError("PyTorch", "`./tb test --help` and docs/training.md say where it comes from")
        self._folder = tempfile.TemporaryDirectory(prefix="tb-fingerprint-")
        self._errors = Path(self._folder.name, "errors")
        try:
            self._start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._connections.values():
            with contextlib.suppress(OSError):
                connection.sendall(HEAD.pack(0, 0, b"", 0.0))
        deadline = time.monotonic() + _END_S
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        self._close()

    def reduce(self, gradients: Array, provocation: int = 0) -> Array:
        """As Reducer.reduce: one all-reduce for each gradient. Provocation k lets rank k - 1 come late."""
        try:
            for rank, connection in self._connections.items():
                late_s = _LATE_S if provocation - 1 == rank else 0.0
                connection.sendall(HEAD.pack(len(gradients), self.elements, self.dtype.encode(), late_s))
                connection.sendall(np.ascontiguousarray(gradients[:, rank]).tobytes())
            sums = [self._answer(self._connections[rank], gradients.dtype) for rank in range(self.ranks)]
        except TimeoutError:
            raise Unusable(f"no sum within {self._timeout_s:g} s") from None
        except OSError as error:
            raise Unusable(f"a rank ended: {self._last_error() or error.strerror}") from None
        return agreed([each.reshape(len(gradients), self.elements) for each in sums])

    def _answer(self, connection: socket.socket, dtype: np.dtype[np.generic]) -> Array:
        went_well, size = REPLY.unpack(_exactly(connection, REPLY.size))
        data = _exactly(connection, size)
        if not went_well:
            raise Unusable(f"an all-reduce failed: {data.decode(errors='replace')}")
        return np.frombuffer(data, dtype)

    def _start(self) -> None:
        path = Path(self._folder.name, "socket")
        listener = socket.socket(socket.AF_UNIX)
        with listener:
            listener.bind(str(path))
            listener.listen(self.ranks)
            listener.settimeout(_LOOK_S)
            words = [str(Path(rank_script.__file__)), self._backend, str(path)]
            for command, environment in self._commands(words):
                self._launch(command, environment)
            deadline = time.monotonic() + self._timeout_s
            while len(self._connections) < self.ranks:
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    self._still_there(deadline)
                    continue
                connection.settimeout(self._timeout_s)
                rank, size = struct.unpack("<ii", _exactly(connection, 8))
                if size != self.ranks:
                    raise ScenarioError(
                        "another number of ranks", file="tb fingerprint", key="--ranks", found=str(size),
                        allowed=str(self.ranks),
                    )  # fmt: skip
                self._connections[rank] = connection

    def _commands(self, words: list[str]) -> Iterator[tuple[list[str], Mapping[str, str]]]:
        """(command, environment) of each process."""
        if self._backend == OWN_BACKEND:
            path = os.pathsep.join([str(_PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])])
            out = str(Path(self._folder.name, "run"))
            command = [sys.executable, "-P", "-m", "testbed", "train", *self._scenario, "--world", "simulated"]
            yield [*command, "--out", out, "--", *words], {**os.environ, "PYTHONPATH": path}
            return
        own = {"OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        for rank in range(self.ranks):
            numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": self.ranks, "LOCAL_WORLD_SIZE": self.ranks}
            named = {name: str(number) for name, number in numbers.items()}
            yield [sys.executable, "-P", *words], {"GLOO_SOCKET_IFNAME": "lo", **os.environ, **own, **named}

    def _launch(self, command: list[str], environment: Mapping[str, str]) -> None:
        with self._errors.open("ab") as errors:
            self._processes.append(
                subprocess.Popen(
                    command,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=errors,
                    preexec_fn=partial(die_with_parent, os.getpid()),
                )
            )

    def _still_there(self, deadline: float) -> None:
        ended = [process.returncode for process in self._processes if process.poll() is not None]
        if not ended and time.monotonic() < deadline:
            return
        raise ScenarioError(
            f"the backend did not start: {self._last_error() or 'no rank came'}", file="tb fingerprint", key="TARGET",
            found=f"torch:{self._backend}",
            allowed="torch:gloo, torch:ina, or another backend whose ranks run on this machine",
        )  # fmt: skip

    def _last_error(self) -> str:
        lines = self._errors.read_text(encoding="utf-8", errors="replace").split("\n") if self._errors.exists() else []
        told = [line.strip() for line in lines if line.strip()]
        wrong = [line for line in told if "Error" in line or line.startswith("tb:")]
        return (wrong or told or [""])[-1]

    def _close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_END_S)
            if process.poll() is None:
                process.kill()
                process.wait()
        self._folder.cleanup()


def _exactly(connection: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = connection.recv_into(view)
        if not count:
            raise ConnectionResetError(None, "the connection ended")
        view = view[count:]
    return data
