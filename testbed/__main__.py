"""`python -m testbed`: the command line."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - what follows cannot even be read by an older one
    print(f"tb: this machine lacks Python 3.11 or newer ({sys.executable} is older); use ./tb", file=sys.stderr)
    sys.exit(3)

from testbed.cli import entry

sys.exit(entry())
