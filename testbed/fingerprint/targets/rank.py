"""One rank of torch.distributed: takes gradients from a socket and gives their sums back.

It runs with Python alone (`python rank.py BACKEND SOCKET`), so it imports nothing of this project.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time

__all__ = ["HEAD", "REPLY"]

HEAD = struct.Struct("<qq8sd")
"""runs, elements, dtype, seconds to wait before; no runs: the end"""
REPLY = struct.Struct("<?q")
"""whether it went well, bytes of the sums or of the error"""


def _read(connection: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = connection.recv_into(view)
        if not count:
            sys.exit(0)
        view = view[count:]
    return data


def _main(backend: str, path: str) -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group(backend)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(struct.pack("<ii", dist.get_rank(), dist.get_world_size()))
    while True:
        runs, elements, dtype, wait_s = HEAD.unpack(_read(connection, HEAD.size))
        if not runs:
            break
        kind = {"float32": torch.float32, "int32": torch.int32}[dtype.rstrip(b"\0").decode()]
        values = torch.frombuffer(_read(connection, 4 * runs * elements), dtype=kind).reshape(runs, elements)
        try:
            for row in values:
                time.sleep(wait_s)
                dist.all_reduce(row)
        except Exception as error:
            text = f"{type(error).__name__}: {error}".encode()
            connection.sendall(REPLY.pack(False, len(text)) + text)
            break
        data = values.numpy().tobytes()
        connection.sendall(REPLY.pack(True, len(data)) + data)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _main(*sys.argv[1:3])
