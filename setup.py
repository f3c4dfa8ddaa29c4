"""Builds the compiled modules (`workloads/native/compiled.py`) into a wheel, where a C compiler is; without one, or
with INA_BUILD=0, the wheel has the sources alone, which are a complete system. All else is in setup.cfg."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("INA_NATIVE", "0")  # while this runs: sources
from workloads.native import compiled

_WANTED = os.environ.get("INA_BUILD", "1") != "0"


class OptionalBuild(build_ext):
    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            self._without(error)

    def build_extension(self, ext: Extension) -> None:
        made = Path(self.build_temp, ext.name, f"{ext.name.rpartition('.')[2]}.c")
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "cython", *compiled.translation(ext.name, made)], check=True)
        ext.sources = [str(made), *compiled.C_SOURCES.get(ext.name, ())]
        super().build_extension(ext)

    def _without(self, error: Exception) -> None:
        print(f"no compiled modules: {error}", file=sys.stderr)
        for ext in self.extensions:
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)
        self.extensions = []


flags, libraries = compiled.deflate()
setup(
    ext_modules=[
        Extension(
            name, sources=[], include_dirs=list(compiled.INCLUDES),
            extra_compile_args=[*compiled.FLAGS, *flags], extra_link_args=[*compiled.LINKED, *libraries],
        )
        for name in (*compiled.MODULES, compiled.SHARED)
    ]
    if _WANTED
    else [],
    cmdclass={"build_ext": OptionalBuild},
)  # fmt: skip
