"""The command line: `chacha VERB`. Messages go to stderr, data to stdout.

Exit codes: 0 success, 1 the data or the run failed, 2 wrong command line.
"""

from __future__ import annotations

import os
import sys

import typer

import chacha
from chacha.cli.calibrate import calibrate
from chacha.cli.compare import compare
from chacha.cli.convert import convert
from chacha.cli.explain import explain
from chacha.cli.run import run
from chacha.cli.transform import transform
from chacha.errors import ChaChaError, ConfigError

__all__ = ["app", "main"]

app = typer.Typer(
    name="chacha",
    help="Online AutoML for data streams: tune an online learner while it serves.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command()(explain)
app.command()(convert)
app.command()(transform)
app.command()(compare)
app.command()(calibrate)


@app.callback(invoke_without_command=True)
def root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Handle the flags that come before a verb."""
    if version:
        print(chacha.__version__)
        raise typer.Exit


def main() -> None:
    """Run the `chacha` program."""
    try:
        app()
    except ConfigError as error:
        print(f"chacha: {error}", file=sys.stderr)
        sys.exit(2)
    except ChaChaError as error:
        print(f"chacha: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader of stdout has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        print(f"chacha: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)
