"""The command line.

Nothing heavy is imported before a command needs it: `tb --help` is there at once.
"""

from testbed.cli.main import entry, main

__all__ = ["entry", "main"]
