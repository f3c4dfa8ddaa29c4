"""The tutorials by copy and paste, in this checkout with its own `./tb`: python -m tests.bareroot.tutorials

Blocks that tests omit are run, too, without `sudo`: this is for root. Ends with 0 if every command printed what its
page shows.
"""

from __future__ import annotations

import sys
import time

from tests.test_tutorials import TOP, Tutorial, blocks

_ORDER = "first-run", "scenario", "compare", "switch-program", "training"


def main() -> int:
    for name in _ORDER:
        began = time.monotonic()
        tutorial = Tutorial(TOP, limit_s=1500)
        for block in blocks(name):
            if (block["note"] or "").startswith("not run by tests: "):
                tutorial.run(block["text"].replace("sudo ", ""))
            else:
                tutorial.take(block)
        print(f"tutorial {name}: {tutorial.ran} commands, {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
