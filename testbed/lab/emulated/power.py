"""`python power.py FOLDER HOST`: power-cycle one host of an emulated lab. Standard library only: an inventory names
this file, and a reader of that inventory may be anywhere."""

from __future__ import annotations

import json
import socket
import sys

_TIMEOUT_S = 30.0


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print("usage: power.py FOLDER HOST", file=sys.stderr)
        return 64
    folder, host = argv
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(f"{folder}/keeper.sock")
            connection.sendall(json.dumps({"op": "cycle", "host": host}).encode())
            answer = json.loads(connection.recv(65_536) or b"{}")
    except (OSError, ValueError) as error:
        print(f"the keeper of the lab does not answer: {error}", file=sys.stderr)
        return 75
    if not answer.get("ok"):
        print(answer.get("problem", "the keeper refused"), file=sys.stderr)
        return 75
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
