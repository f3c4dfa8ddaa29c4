"""`python -m testbed`: the command line."""

import gc
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - what follows cannot even be read by an older one
    print(f"tb: this machine lacks Python 3.11 or newer ({sys.executable} is older); use ./tb", file=sys.stderr)
    sys.exit(3)

from testbed.cli import entry

status = entry()
# What is left is not looked through for circles once more: after a large run that takes a second and more.
gc.freeze()
sys.exit(status)
