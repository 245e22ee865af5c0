"""The options that say which cluster and which namespace a command means, given to every command in one way."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from ops.cli.kubectl.connection import Context, Kubeconfig, Namespace
from ops.cli.kubectl.where import Where

HERE = Where()
"""What is meant when nothing is said."""


def in_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """A command with `--kubeconfig` and `--context` at its end; it takes what they say as `where`."""
    return _with_options(command, ())


def in_namespace(command: Callable[..., None]) -> Callable[..., None]:
    """The same, with `--namespace` where the command has `where`."""
    return _with_options(command, (_option("namespace", Namespace),))


def _with_options(command: Callable[..., None], instead: tuple[inspect.Parameter, ...]) -> Callable[..., None]:
    """Typer reads options off a signature: that of the command, with options `instead` of `where`."""
    own = inspect.signature(command)
    options: list[inspect.Parameter] = []
    for one in own.parameters.values():
        options.extend(instead if one.name == "where" else (one,))
    options += [_option("kubeconfig", Kubeconfig), _option("context", Context)]

    @wraps(command)
    def with_where(*, kubeconfig: str, context: str, namespace: str = "", **given: Any) -> None:
        command(where=Where(kubeconfig=kubeconfig, context=context, namespace=namespace), **given)

    with_where.__signature__ = own.replace(parameters=options)  # type: ignore[attr-defined]
    with_where.__annotations__ = {one.name: one.annotation for one in options}
    return with_where


def _option(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default="", annotation=annotation)
