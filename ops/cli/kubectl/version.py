"""`kuelog version`: which version this is, and which images run in the cluster."""

from importlib.metadata import version

import typer

from events.json_object import JsonObject, objects_at
from events.rules import RULES
from ops.cli.kubectl.cluster_options import HERE, in_namespace
from ops.cli.kubectl.connection import with_cluster
from ops.cli.kubectl.nouns import DEPLOYMENT
from ops.cli.kubectl.where import Where, listed

INSTALLED = "kuelog-system"
"""Where the manifests put kuelog."""
_OURS = "app.kubernetes.io/name=kuelog"


@in_namespace
def show_version(where: Where = HERE) -> None:
    """Which version this is and by which rules it decides, and the images of the services in the cluster, if they are there.

    Example: kuelog version -n kuelog-system
    """
    typer.echo(f"Client Version: {version('kuelog')}, rules {RULES}")
    if not where.is_there() and not where.kubeconfig:
        return
    space = where.namespace or INSTALLED
    found = with_cluster(where, lambda client: listed(client, DEPLOYMENT, space, labels=_OURS))
    images: dict[str, list[str]] = {}
    for one in found:
        for image in _images(one):
            images.setdefault(image, []).append(one["metadata"]["name"])
    for image, names in sorted(images.items()):
        typer.echo(f"Image: {image} ({', '.join(sorted(names))})")


def _images(deployment: JsonObject) -> list[str]:
    containers = objects_at(deployment, "spec", "template", "spec", "containers")
    return sorted({str(one.get("image", "")) for one in containers})
