"""Flags that several verbs share: the source, and how a table becomes examples."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Annotated, Any

import typer

from chacha.config.derived_groups import DEFAULT_KINDS
from chacha.errors import ConfigError
from chacha.losses import loss_forms
from chacha.rules.contest.scaling import Scaling
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
from chacha.sources.spec import MOST_GROUPS, MOST_NAMED_GROUPS, NULLS

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
    "with_table_flags",
]

TABLES = "How a table becomes examples"
FILES = "The format of a file (detected by default)"

_SOURCES = (
    "iles (.vw .csv .tsv .parquet .jsonl .arrow .feather .arff .libsvm .json, also compressed), "
    "a 'pattern*', an address, {}synth:NAME or openml:ID."
)
SourceArgument = Annotated[
    list[str], typer.Argument(metavar="SOURCE", help="F" + _SOURCES.format("- for stdin, "))
]
StreamsArgument = Annotated[
    list[str],
    typer.Argument(metavar="SOURCE", help="Each is one stream: f" + _SOURCES.format("")),
]
LimitFlag = Annotated[
    int | None, typer.Option(min=1, help="Stop after this many examples.", show_default="all")
]
OnBadFlag = Annotated[
    OnBad | None,
    typer.Option(
        help="What to do with rows that cannot be used.", show_default="error; skip for stdin"
    ),
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
        show_default="interactions,learning_rate, for tables also features; with the paper's "
        "rules interactions",
    ),
]
FeaturesFlag = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help=f"Derived groups to try: kinds ({', '.join(DEFAULT_KINDS)}), groups such as "
        "'lag(label,3)', and -WHAT to leave out.",
        show_default="all kinds",
    ),
]
InitFlag = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="An initial or fixed value; any option of VW."),
]
PoolFlag = Annotated[
    str,
    typer.Option(
        metavar="NAME[:ARGUMENT]",
        help="Where the models live: native[:KERNEL], vw, reference, river:NAME, or a pool of an "
        "installed package.",
    ),
]
_FORMS = loss_forms()
LossFlag = Annotated[str, typer.Option(help=f"{', '.join(_FORMS[:-1])} or {_FORMS[-1]}.")]


def output_option(kinds: str) -> Any:
    """Return the option for the file to write, of these kinds.

    >>> output_option(".vw").help
    '.vw; - for stdout.'
    """
    return typer.Option("--output", "-o", metavar="FILE", help=f"{kinds}; - for stdout.")


def _option(panel: str, metavar: str | None, text: str, flag: str | None, **more: Any) -> Any:
    return typer.Option(
        *([flag] if flag else []), metavar=metavar, help=text, rich_help_panel=panel, **more
    )


def _table_option(metavar: str | None, text: str, flag: str | None = None, **more: Any) -> Any:
    return _option(TABLES, metavar, text, flag, **more)


def _file_option(metavar: str | None, text: str, flag: str | None = None, **more: Any) -> Any:
    return _option(FILES, metavar, text, flag, **more)


def table_spec(
    target: Annotated[
        str | None, _table_option("COL", "The column to predict.", show_default="the last")
    ] = None,
    weight: Annotated[str | None, _table_option("COL", "The column of weights.")] = None,
    tag: Annotated[str | None, _table_option("COL", "The column of tags.")] = None,
    positive: Annotated[
        str | None,
        _table_option("VALUE", "Two classes: this value of the target is 1, others are -1."),
    ] = None,
    namespaces: Annotated[
        int | None,
        _table_option(
            "N",
            "At most this many groups of columns, in order; with --group-by name, by name.",
            min=1,
            show_default=f"{MOST_NAMED_GROUPS} by name",
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        _table_option("NAME=COL,COL", "A group of columns or patterns; repeatable."),
    ] = None,
    group_by: Annotated[
        GroupBy | None,
        _table_option(
            None,
            "Groups by name, by order, by column, or by prefix (user_age).",
            show_default="name; order with --namespaces",
        ),
    ] = None,
    type_: Annotated[
        list[str] | None,
        _table_option(
            "COL=TYPE",
            "number, category, boolean, datetime[:FORMAT], text or vector; repeatable.",
            flag="--type",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, _table_option("COL", "A column to leave out; repeatable.")
    ] = None,
    categories: Annotated[
        Categories, _table_option(None, "Words as indicators or as codes.")
    ] = Categories.INDICATOR,
    missing: Annotated[Missing, _table_option(None, "What an empty cell means.")] = Missing.ZERO,
    null: Annotated[
        list[str] | None, _table_option("WORD", "Another word for an empty cell; repeatable.")
    ] = None,
    delimiter: Annotated[
        str | None, _file_option("CHAR", "CSV: the character between cells.")
    ] = None,
    quote: Annotated[
        str, _file_option("CHAR", "CSV: the character around cells; '' for none.")
    ] = '"',
    header: Annotated[
        bool | None,
        _file_option(
            None,
            "CSV: line 1 names the columns.",
            flag="--header/--no-header",
            show_default="unless it holds only numbers",
        ),
    ] = None,
    decimal: Annotated[str | None, _file_option("CHAR", "CSV: the decimal point, . or ,")] = None,
    encoding: Annotated[
        str | None, _file_option("NAME", "CSV: the encoding; UTF-8 by default.")
    ] = None,
) -> TableSpec:
    """Return how a table becomes examples, from the flags.

    >>> table_spec(target="y", namespaces=3).most_groups
    3
    >>> table_spec(type_=["zip=category", "day=datetime:%d/%m/%Y"]).formats
    {'day': '%d/%m/%Y'}
    """
    if group and group_by is not None:
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
    """Return a delimiter; a tab is hard to pass through a shell, so it has names."""
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
    names = [kind.value for kind in Kind]
    for word in words:
        column, equals, type_word = word.partition("=")
        kind, colon, form = type_word.partition(":")
        if not equals or not column or kind not in names or (colon and kind != "datetime"):
            choices = ", ".join(names).replace("datetime", "datetime[:FORMAT]")
            raise ConfigError(f"--type needs COLUMN=TYPE with one of {choices}; got {word!r}")
        kinds[column] = Kind(kind)
        if form:
            formats[column] = form
    return kinds, formats


def paper_protocol(sources: Sequence[str], table: TableSpec, form: Format | None) -> TableSpec:
    """Return the table of the paper's protocol: 10 sequential groups, categories as codes.

    VW text and built-in streams have groups already, so nothing changes for them.

    >>> table = paper_protocol(["a.csv"], TableSpec(), None)
    >>> table.categories, table.group_by, table.most_groups
    (<Categories.CODE: 'code'>, <GroupBy.ORDER: 'order'>, 10)
    >>> paper_protocol(["a.csv"], TableSpec(most_groups=3), None)
    Traceback (most recent call last):
    chacha.errors.ConfigError: --paper-protocol has 10 groups of columns in their order; leave \
--namespaces, --group and --group-by out
    """
    in_order = replace(table, groups={}, group_by=GroupBy.ORDER, most_groups=MOST_GROUPS)
    given = table.changed() & {"groups", "group_by", "most_groups"}
    if given and not table.groups_as(in_order):
        raise ConfigError(
            f"--paper-protocol has {MOST_GROUPS} groups of columns in their order; leave "
            "--namespaces, --group and --group-by out"
        )
    grouped = [known for known in Format if "categories" not in known.entry.settings]
    if all(s.startswith("synth:") or (form or format_of_name(s)) in grouped for s in sources):
        return table
    return replace(in_order, categories=Categories.CODE)


def target_flags(
    log_target: Annotated[
        LogTarget,
        _table_option(None, "Learn the logarithm of the target: always, or where it is large."),
    ] = LogTarget.OFF,
    paper_protocol: Annotated[
        bool,
        _table_option(
            None,
            "As in the paper: 10 groups in order, categories as codes, --log-target auto, "
            "--as-read.",
            flag="--paper-protocol",
        ),
    ] = False,
    as_read: Annotated[
        bool,
        _table_option(
            None,
            "Learn labels and columns as they are, not in units of their scale.",
            flag="--as-read",
        ),
    ] = False,
) -> tuple[LogTarget, bool, bool]:
    """Return the flags about the target and the protocol, besides those of :func:`table_spec`."""
    log_target = LogTarget.AUTO if paper_protocol else log_target
    return log_target, paper_protocol, as_read or paper_protocol


def with_table_flags(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the flags about tables and files to a verb.

    The verb has the parameters `table` and `log_target`, and `scaling` if it makes models.
    """
    table_flags = inspect.signature(table_spec, eval_str=True).parameters
    target = inspect.signature(target_flags, eval_str=True).parameters
    verb_flags = dict(inspect.signature(verb, eval_str=True).parameters)
    del verb_flags["table"], verb_flags["log_target"]
    scales = verb_flags.pop("scaling", None) is not None

    @wraps(verb)
    def command(**values: Any) -> None:
        table = table_spec(**{name: values.pop(name) for name in table_flags})
        given = {name: values.pop(name) for name in target}
        log_target, protocol, as_read = target_flags(**given)
        if protocol:
            table = paper_protocol(values["source"], table, values["form"])
        if scales:
            values["scaling"] = None if as_read else Scaling()
        verb(table=table, log_target=log_target, **values)

    parameters = [*verb_flags.values(), *table_flags.values(), *target.values()]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command
