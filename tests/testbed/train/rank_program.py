"""A rank without torch, for `tb train`: what it does is told in words on its command line.

sum:N        an all-reduce of N elements, all of them rank + 1; its result is checked
some:N       the same of which some may be missing: an element is the sum of some ranks
store        a collective that is not for the network
step         the optimizer stepped
print:TEXT   one line
wait         wait for SIGINT
KIND@RANK    only at that rank: crash, kill, gone, hang, quit, sum:N, ...
"""

import array
import os
import signal
import sys
import threading
import time

from workloads.ranks.client import SOCKET_VARIABLE, RankClient

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def all_reduce(client: RankClient, elements: int, whole: bool = True) -> None:
    over, found = threading.Event(), []

    def take(memory: memoryview, network_ns: int) -> None:
        found.append(array.array("f", memory.tobytes()))
        over.set()

    def refuse(reason: str) -> None:
        found.append(reason)
        over.set()

    values = array.array("f", [RANK + 1.0]) * elements

    def fill(memory: memoryview) -> None:
        memory[:] = values.tobytes()

    client.post_sum(fill, elements, "sum", take, refuse)
    over.wait()
    (result,) = found
    if isinstance(result, str):
        raise RuntimeError(result)
    most = SIZE * (SIZE + 1) // 2
    assert set(result) <= ({most} if whole else set(range(most + 1))), result[:4]


def do(client: RankClient, word: str) -> None:
    kind, _, value = word.partition(":")
    match kind:
        case "sum":
            all_reduce(client, int(value))
        case "some":
            all_reduce(client, int(value), whole=False)
        case "store":
            client.announce("barrier")
        case "step":
            client.step(int(value))
        case "print":
            print(value, flush=True)
        case "wait":
            signal.sigwait({signal.SIGINT})
        case "crash":
            raise ZeroDivisionError("a mistake of the script")
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "gone":
            os._exit(0)
        case "hang":
            time.sleep(600)
        case "quit":
            client.leave()
            sys.exit(0)


def main() -> None:
    print(f"joins {os.environ[SOCKET_VARIABLE]}", file=sys.stderr, flush=True)
    if "wait" in sys.argv:  # the kernel may hand it to any thread that does not block it
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    client = RankClient(os.environ[SOCKET_VARIABLE], RANK, SIZE)
    for word in sys.argv[1:]:
        what, _, who = word.partition("@")
        if not who or int(who) == RANK:
            do(client, what)
    client.leave()


if __name__ == "__main__":
    main()
