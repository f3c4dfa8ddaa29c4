"""Runs scripts of `tutorials/` one after the other in this process, as one rank."""

import os
import runpy
import sys
import traceback
from pathlib import Path

GROUPS = 8
FOLDER = Path(__file__).with_name("tutorials")


def main():
    sys.path.insert(0, str(FOLDER))
    port = int(os.environ["MASTER_PORT"])
    for index, name in enumerate(sys.argv[1:]):
        # gloo sometimes meets the store of the script before, which ends at that moment; a script may make many groups.
        os.environ["MASTER_PORT"] = str(port + GROUPS * index)
        print("script", name, flush=True)
        try:
            runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
        except Exception as error:
            traceback.print_exc()
            print("result - refused", f"{type(error).__name__}: {error}".splitlines()[0], flush=True)
            sys.exit(1)
    if os.environ["BE"] == "gloo":
        sys.stdout.flush()
        os._exit(0)  # without an end of what `common` keeps


if __name__ == "__main__":
    main()
