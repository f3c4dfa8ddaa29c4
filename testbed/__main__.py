"""`python -m testbed`: the command line."""

import sys

from testbed.cli import main

sys.exit(main())
