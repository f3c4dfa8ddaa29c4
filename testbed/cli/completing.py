"""`tb completion`: what a shell completes, and a man page, both made from the parsers of the commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from testbed import __version__
from testbed.cli.parsing import full_parser
from workloads.errors import HostCapabilityError

__all__ = ["configure_completion", "run_completion"]

_SHELLS = ("bash", "zsh", "tcsh")
_NAMES = {"scenario": "scenario", "scenarios": "scenario", "targets": "target"}
"""argument -> kind of names that complete it: names of built-ins, then files"""
_BASH = """\
_tb_{kind}() {{
  COMPREPLY=( $(compgen -W "{words}" -- "$1") $(compgen -f -- "$1") )
  printf '%s\\n' "${{COMPREPLY[@]}}"
}}
"""


def configure_completion(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb completion bash > ~/.local/share/bash-completion/completions/tb
  ./tb completion zsh | sudo tee /usr/local/share/zsh/site-functions/_tb > /dev/null
  ./tb completion man | sudo tee /usr/local/share/man/man1/tb.1 > /dev/null
"""
    parser.add_argument(
        "what",
        choices=(*_SHELLS, "man"),
        metavar="WHAT",
        help="bash, zsh or tcsh: a script of completions; man: a page for man",
    )


def run_completion(args: argparse.Namespace) -> int:
    parser = full_parser()
    print(_man(parser) if args.what == "man" else _script(parser, args.what), end="")
    return 0


def _script(parser: argparse.ArgumentParser, shell: str) -> str:
    try:
        import shtab
    except ModuleNotFoundError as error:
        raise _missing("shtab") from error
    kinds = _words()
    for action in _positionals(parser):
        kind = _NAMES.get(action.dest)
        if kind is not None:
            zsh = f"{{_alternative 'words:{kind}:({' '.join(kinds[kind])})' 'files:file:_files'}}"
            action.complete = {"bash": f"_tb_{kind}", "zsh": zsh}  # type: ignore[attr-defined]
        elif action.choices is None:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    preamble = "".join(_BASH.format(kind=kind, words=" ".join(words)) for kind, words in kinds.items())
    text: str = shtab.complete(parser, shell, preamble={"bash": preamble})
    return text.rstrip() + "\n"


def _words() -> dict[str, list[str]]:
    from testbed.scenario import builtin_names
    from testbed.sweeps import builtin_sweeps

    return {"scenario": list(builtin_names()), "target": [*builtin_names(), *builtin_sweeps()]}


def _positionals(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Of the parser and of all below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in dict.fromkeys(action.choices.values()):
                yield from _positionals(child)
        elif not action.option_strings:
            yield action


def _man(parser: argparse.ArgumentParser) -> str:
    try:
        from argparse_manpage.manpage import Manpage
    except ModuleNotFoundError as error:
        raise _missing("argparse-manpage") from error
    data = {
        "project_name": "ina-testbed", "description": parser.description, "version": __version__, "manual_section": "1",
        "manual_title": "ina-testbed", "prog": "tb",
    }  # fmt: skip
    return f"{str(Manpage(parser, _data=data)).rstrip()}\n"


def _missing(package: str) -> HostCapabilityError:
    return HostCapabilityError(
        f"the Python package {package} for {sys.executable}", "to have it: pip install 'ina-testbed[shell]'"
    )
