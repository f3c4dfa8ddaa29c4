"""`python -m testbed`, and `tb` of an installed package: the command line."""

import gc
import os
import signal
import sys


def run() -> None:
    """Ends the process."""
    if callable(signal.getsignal(signal.SIGINT)):  # not ignored
        signal.signal(signal.SIGINT, _leave)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # ./tb blocks it while the interpreter starts
    if sys.version_info < (3, 11):  # noqa: UP036 - what follows cannot even be read by an older one
        print(f"tb: this machine lacks Python 3.11 or newer ({sys.executable} is older); use ./tb", file=sys.stderr)
        sys.exit(3)

    from testbed.kernel.garbage import seldom

    with seldom():  # imports make many objects and no garbage; to look through them takes a fifteenth of a short run
        from testbed.cli import entry

        status = entry()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the result stands
    # What is left is not looked through for circles once more: after a large run that takes a second and more.
    gc.freeze()
    sys.exit(status)


def _leave(number: int, frame: object) -> None:
    """Nothing has begun that needs a cleanup, and an import that is interrupted may swallow an exception."""
    os.write(2, b"tb: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    run()
