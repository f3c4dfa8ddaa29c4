"""Puts the compiled modules (`workloads/native/compiled.py`) and the C core into a wheel, where a C compiler is;
without one, or with INA_BUILD=0, the wheel has the sources alone, which are a complete system. All else is in
setup.cfg."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workloads.native.build import ship
from workloads.native.compiled import MODULES, SHARED, find_compiled
from workloads.native.compiling import build


class CompiledModules(build_ext):
    def run(self) -> None:
        status = build()
        if not status.available:
            print(f"no compiled modules: {status.detail}\n{status.output}", file=sys.stderr)
        for module, path in find_compiled().items():
            target = Path(self.get_ext_fullpath(module))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        if not self.inplace:
            ship(Path(self.build_lib) / "workloads" / "native" / "shipped")


_WANTED = os.environ.get("INA_BUILD", "1") != "0"
setup(
    ext_modules=[Extension(name, sources=[]) for name in (*MODULES, SHARED)] if _WANTED else [],
    cmdclass={"build_ext": CompiledModules},
)
