"""Commands with all of their options, from the parsers that read them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from testbed.cli.parsing import Parser, full_parser
from testbed.cli.values import ReadQuantity
from testbed.manual.tables import code, named_pages, table

__all__ = ["all_commands"]

_EVERYWHERE = {"help", "quiet", "verbose", "no_color"}


def all_commands() -> str:
    (commands,) = _children(full_parser())
    return "\n".join(
        part for name, parser in commands.choices.items() for part in _described(f"tb {name}", parser, level=2)
    )


def _described(name: str, parser: Parser, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}\n"
    if parser.description:
        text = " ".join(parser.description.split())
        yield f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}\n"
    yield f"```text\n{_usage(name, parser)}\n```\n"
    rows = [_row(action) for action in _own(parser)]
    if rows:
        yield table(("argument or option", "default", "meaning"), rows)
    if parser.epilog:
        yield f"```text\n{parser.epilog.strip()}\n```\n"
        if pages := named_pages(parser.epilog):
            yield f"Pages: {pages}.\n"
    for child in _children(parser):
        for word, inner in child.choices.items():
            yield from _described(f"{name} {word}", inner, level + 1)


def _children(parser: argparse.ArgumentParser) -> list[argparse._SubParsersAction[Parser]]:
    return [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]


def _own(parser: Parser) -> list[argparse.Action]:
    """Arguments and options that `--help` shows, without those of every command."""
    return [
        action
        for action in parser._actions
        if action.dest not in _EVERYWHERE
        and action.help != argparse.SUPPRESS
        and not isinstance(action, argparse._SubParsersAction)
    ]


def _usage(name: str, parser: Parser) -> str:
    """A usage of the parser's own may end in what argparse does not read, as `-- COMMAND ...`."""
    words = [name, *("ACTION ..." for _ in _children(parser))]
    words += [_shown(action) if _is_required(action) else f"[{_shown(action)}]" for action in _own(parser)]
    _, dashes, rest = (parser.usage or "").partition(" -- ")
    return " ".join(words) + dashes + rest


def _is_required(action: argparse.Action) -> bool:
    """Argparse calls a list that may be empty required."""
    return action.required and action.nargs != argparse.ZERO_OR_MORE


def _shown(action: argparse.Action) -> str:
    """`--seed N`, `SCENARIO`."""
    value = "" if action.nargs == 0 else _value(action)
    return " ".join(filter(None, [action.option_strings[-1] if action.option_strings else "", value]))


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    name = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    if action.nargs == argparse.OPTIONAL and action.option_strings:
        return f"[{name}]"
    return f"{name} ..." if action.nargs in ("*", "+", argparse.REMAINDER) else name


def _row(action: argparse.Action) -> tuple[str, str, str]:
    names = [f"`{option}`" for option in action.option_strings] or [f"`{_value(action)}`"]
    if action.option_strings and action.nargs != 0:
        names[-1] = f"`{_shown(action)}`"
    meaning = " ".join((action.help or "").split()) % {"default": action.default}
    words = [str(each) for each in action.choices or ()]
    if any(word not in meaning for word in words):
        meaning = f"{meaning}; allowed: {', '.join(words)}"
    return ", ".join(names), _default(action), re.sub(r"([<>*_])", r"\\\1", meaning)


def _default(action: argparse.Action) -> str:
    """As a user would write it. Empty for options without a value, and where the meaning says what happens."""
    if _is_required(action):
        return "required"
    default = action.default
    if action.nargs == 0 or default in (None, False, argparse.SUPPRESS, [], ()):
        return ""
    if isinstance(action.type, ReadQuantity) and isinstance(default, int):
        return code(action.type.show(default))
    return code(f"{default:,}" if isinstance(default, int) else default)
