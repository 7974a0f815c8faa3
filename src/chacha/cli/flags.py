"""Flags that several verbs share: what the source is, and how a table becomes examples."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Annotated, Any

import typer

from chacha.errors import ConfigError
from chacha.sources import (
    Categories,
    CsvDialect,
    Format,
    GroupBy,
    Kind,
    LogTarget,
    Missing,
    OnBad,
    TableSpec,
)
from chacha.sources.formats.detect import format_of_name
from chacha.sources.spec import MOST_GROUPS, NULLS

__all__ = [
    "BudgetFlag",
    "FeaturesFlag",
    "FormatFlag",
    "InitFlag",
    "LimitFlag",
    "LossFlag",
    "OnBadFlag",
    "PoolFlag",
    "SourceArgument",
    "StreamsArgument",
    "TuneFlag",
    "output_option",
    "table_spec",
    "takes_table",
]

TABLES = "How a table becomes examples"
FILES = "How a file is written (else it is found out)"

_SOURCES = (
    "iles (.vw .csv .tsv .parquet .jsonl .arrow .feather .arff .libsvm .json, also compressed), "
    "a 'pattern*', an address, {}synth:NAME or openml:ID."
)
SourceArgument = Annotated[
    list[str], typer.Argument(metavar="SOURCE", help="F" + _SOURCES.format("- for stdin, "))
]
StreamsArgument = Annotated[
    list[str],
    typer.Argument(metavar="SOURCE", help="Each a stream of its own: f" + _SOURCES.format("")),
]
LimitFlag = Annotated[
    int | None, typer.Option(min=1, help="Stop after so many examples.", show_default="all")
]
OnBadFlag = Annotated[
    OnBad | None,
    typer.Option(help="Rows that cannot be used.", show_default="error; skip for stdin"),
]
FormatFlag = Annotated[
    Format | None,
    typer.Option("--format", help="The format.", show_default="by name", rich_help_panel=FILES),
]
BudgetFlag = Annotated[
    int, typer.Option("--budget", "-b", help="Live models, the champion included.")
]
TuneFlag = Annotated[
    str | None,
    typer.Option(
        help="Comma list: interactions, learning_rate, features, power_t, l1, l2; none.",
        show_default="interactions,learning_rate, of tables features; with the paper's rules "
        "interactions",
    ),
]
FeaturesFlag = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Derived groups to try: kinds (bins, onehot, cyclic, log, missing), groups such as "
        "'lag(label,3)', and -WHAT to leave out.",
        show_default="all kinds",
    ),
]
InitFlag = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="An initial or fixed value; any option of VW."),
]
PoolFlag = Annotated[str, typer.Option(help="Where the models live: native, vw, reference.")]
LossFlag = Annotated[str, typer.Option(help="squared, logistic, quantile:TAU, poisson or hinge.")]


def output_option(kinds: str) -> Any:
    """The file to write, of these kinds.

    >>> output_option(".vw").help
    '.vw; - for stdout.'
    """
    return typer.Option("--output", "-o", metavar="FILE", help=f"{kinds}; - for stdout.")


def _option(panel: str, metavar: str | None, text: str, flag: str | None, **more: Any) -> Any:
    return typer.Option(
        *([flag] if flag else []), metavar=metavar, help=text, rich_help_panel=panel, **more
    )


def _table(metavar: str | None, text: str, flag: str | None = None, **more: Any) -> Any:
    return _option(TABLES, metavar, text, flag, **more)


def _file(metavar: str | None, text: str, flag: str | None = None, **more: Any) -> Any:
    return _option(FILES, metavar, text, flag, **more)


def table_spec(
    target: Annotated[
        str | None, _table("COL", "The column to predict.", show_default="the last")
    ] = None,
    weight: Annotated[str | None, _table("COL", "The column of weights.")] = None,
    tag: Annotated[str | None, _table("COL", "The column of tags.")] = None,
    positive: Annotated[
        str | None, _table("VALUE", "Two classes: this value of the target is 1, others are -1.")
    ] = None,
    namespaces: Annotated[
        int, _table("N", "At most so many groups of columns, in order.", min=1)
    ] = 10,
    group: Annotated[
        list[str] | None, _table("NAME=COL,COL", "A group of columns or patterns; repeat it.")
    ] = None,
    group_by: Annotated[
        GroupBy, _table(None, "Groups by order, by column, or by prefix (user_age).")
    ] = GroupBy.ORDER,
    type_: Annotated[
        list[str] | None,
        _table(
            "COL=TYPE",
            "number, category, boolean, datetime[:FORMAT], text or vector; repeat it.",
            flag="--type",
        ),
    ] = None,
    ignore: Annotated[list[str] | None, _table("COL", "A column to leave out; repeat it.")] = None,
    categories: Annotated[
        Categories, _table(None, "Words as indicators or as codes.")
    ] = Categories.INDICATOR,
    missing: Annotated[Missing, _table(None, "What an empty cell means.")] = Missing.ZERO,
    null: Annotated[
        list[str] | None, _table("WORD", "Another word for an empty cell; repeat it.")
    ] = None,
    delimiter: Annotated[str | None, _file("CHAR", "CSV: what stands between cells.")] = None,
    quote: Annotated[str, _file("CHAR", "CSV: what stands around cells; '' for nothing.")] = '"',
    header: Annotated[
        bool | None,
        _file(
            None,
            "CSV: line 1 names the columns.",
            flag="--header/--no-header",
            show_default="unless it holds numbers only",
        ),
    ] = None,
    decimal: Annotated[str | None, _file("CHAR", "CSV: the decimal point, . or ,")] = None,
    encoding: Annotated[str | None, _file("NAME", "CSV: UTF-8 if not given.")] = None,
) -> TableSpec:
    """How a table becomes examples, from the flags.

    >>> table_spec(target="y", namespaces=3).most_groups
    3
    >>> table_spec(type_=["zip=category", "day=datetime:%d/%m/%Y"]).formats
    {'day': '%d/%m/%Y'}
    """
    if group and group_by is not GroupBy.ORDER:
        raise ConfigError("--group and --group-by exclude each other")
    kinds, formats = _types(type_ or [])
    return TableSpec(
        target=target,
        weight=weight,
        tag=tag,
        positive=positive,
        most_groups=namespaces,
        group_by=group_by,
        groups=_groups(group or []),
        kinds=kinds,
        formats=formats,
        ignore=tuple(ignore or ()),
        categories=categories,
        missing=missing,
        nulls=(*NULLS, *(null or ())),
        csv=CsvDialect(_character(delimiter), quote, header, decimal, encoding),
    )


def _character(word: str | None) -> str | None:
    """A shell passes a tab badly, so words for it are known."""
    return "\t" if word in ("\\t", "tab") else word


def _groups(words: list[str]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, columns = word.partition("=")
        if not equals or not name or not columns:
            raise ConfigError(f"--group needs NAME=COLUMN,COLUMN, got {word!r}")
        groups[name] = groups.get(name, ()) + tuple(c.strip() for c in columns.split(","))
    return groups


def _types(words: list[str]) -> tuple[dict[str, Kind], dict[str, str]]:
    kinds: dict[str, Kind] = {}
    formats: dict[str, str] = {}
    known = [kind.value for kind in Kind]
    for word in words:
        column, equals, told = word.partition("=")
        kind, colon, form = told.partition(":")
        if not equals or not column or kind not in known or (colon and kind != "datetime"):
            choices = ", ".join(known).replace("datetime", "datetime[:FORMAT]")
            raise ConfigError(f"--type needs COLUMN=TYPE with one of {choices}; got {word!r}")
        kinds[column] = Kind(kind)
        if form:
            formats[column] = form
    return kinds, formats


def paper_protocol(sources: Sequence[str], table: TableSpec, form: Format | None) -> TableSpec:
    """The paper's protocol: at most 10 sequential groups, categories as codes.

    VW text and built-in streams have their groups already.

    >>> paper_protocol(["a.csv"], TableSpec(), None).categories
    <Categories.CODE: 'code'>
    >>> paper_protocol(["a.csv"], TableSpec(most_groups=3), None)
    Traceback (most recent call last):
    chacha.errors.ConfigError: --paper-protocol has 10 groups of columns in their order; leave \
--namespaces, --group and --group-by out
    """
    if not table.groups_as(TableSpec()):
        told = f"--paper-protocol has {MOST_GROUPS} groups of columns in their order"
        raise ConfigError(f"{told}; leave --namespaces, --group and --group-by out")
    grouped = [known for known in Format if "categories" not in known.entry.settings]
    if all(s.startswith("synth:") or (form or format_of_name(s)) in grouped for s in sources):
        return table
    return replace(table, categories=Categories.CODE)


def target_flags(
    log_target: Annotated[
        LogTarget, _table(None, "Learn the logarithm of the target: always, or where it is large.")
    ] = LogTarget.OFF,
    paper_protocol: Annotated[
        bool,
        _table(
            None,
            "As in the paper: 10 groups in order, categories as codes, --log-target auto.",
            flag="--paper-protocol",
        ),
    ] = False,
) -> tuple[LogTarget, bool]:
    """Flags about the target and the protocol, beside those of :func:`table_spec`."""
    return (LogTarget.AUTO if paper_protocol else log_target), paper_protocol


def takes_table(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the flags of how a table becomes examples; it gets `table` and `log_target`."""
    flags = inspect.signature(table_spec, eval_str=True).parameters
    more = inspect.signature(target_flags, eval_str=True).parameters
    own = dict(inspect.signature(verb, eval_str=True).parameters)
    del own["table"], own["log_target"]

    @wraps(verb)
    def with_flags(**given: Any) -> None:
        table = table_spec(**{name: given.pop(name) for name in flags})
        log_target, protocol = target_flags(**{name: given.pop(name) for name in more})
        if protocol:
            table = paper_protocol(given["source"], table, given["form"])
        verb(table=table, log_target=log_target, **given)

    parameters = [*own.values(), *flags.values(), *more.values()]
    signature = inspect.Signature(parameters)
    with_flags.__signature__ = signature  # type: ignore[attr-defined]
    with_flags.__annotations__ = {p.name: p.annotation for p in parameters}
    return with_flags
