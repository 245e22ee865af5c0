"""Names of objects of a cluster for whoever presses Tab: asked of its API server, which has a second to answer.

Where none answers, or it refuses, nothing is offered.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import typer

from ops.cli.kubectl.nouns import CLUSTER_QUEUE, LOCAL_QUEUE, NAMESPACE, NOUNS, Noun

Completion = Callable[[typer.Context, str], list[str]]
_PATIENCE_S = 1.0
_SHOWN = 200


def named(context: typer.Context, incomplete: str) -> list[str]:
    """Completes names of the kind that the command is about."""
    noun = next((one for one in NOUNS if context.info_name in (one.name, *one.aliases)), None)
    return [] if noun is None else _beginning(context, incomplete, noun)


def names_of(noun: Noun) -> Completion:
    """Completes names of one kind."""

    def completed(context: typer.Context, incomplete: str) -> list[str]:
        return _beginning(context, incomplete, noun)

    return completed


namespaces = names_of(NAMESPACE)
cluster_queues = names_of(CLUSTER_QUEUE)
local_queues = names_of(LOCAL_QUEUE)


def _beginning(context: typer.Context, incomplete: str, noun: Noun) -> list[str]:
    from ops.cli.kubectl.where import Where, asked  # noqa: PLC0415 - that a command has, help has not
    from ops.production.kubernetes.client import KubeConfigMissing  # noqa: PLC0415
    from services.runtime.cluster_port import ClusterUnavailable, ObjectInvalid, ObjectMissing  # noqa: PLC0415

    given = {name: str(context.params.get(name) or "") for name in ("kubeconfig", "context", "namespace")}
    where = Where(**given)
    everywhere = bool(context.params.get("everywhere"))
    space = where.space() if noun.resource.namespaced and not everywhere else ""
    # What a library has to say belongs on no line that is being typed.
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        suppress(ClusterUnavailable, KubeConfigMissing, ObjectInvalid, ObjectMissing, TimeoutError),
    ):
        found = asyncio.run(asyncio.wait_for(asked(where, noun, space), _PATIENCE_S))
        return sorted({one for one in found if one.startswith(incomplete)})[:_SHOWN]
    return []
