"""The official client for Kubernetes, of which only this much is loaded: its packages would load everything they have.

That is a second client, for who does not wait asynchronously, and a validator of models, which nobody here asks for: 20 MB, 10 of them the
validator's, which a process that `typer` has read options for holds anyway.
"""

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any

for _package in ("kubernetes", "kubernetes.aio"):
    _found = find_spec(_package)
    if _package not in sys.modules and _found is not None:  # Without it the imports below say so.
        sys.modules[_package] = module_from_spec(_found)
        if (_parent := _package.rpartition(".")[0]) in sys.modules:
            setattr(sys.modules[_parent], _package.rpartition(".")[2], sys.modules[_package])

from kubernetes.aio import client as kube  # noqa: E402 - not before it is kept small
from kubernetes.aio.client.rest import RESTClientObject  # noqa: E402

_client: Any = kube
# Who reads kubeconfigs names it, for what is not asked of him here; whoever does ask for it later is given the real one.
_client.ApiClient = type("NotLoaded", (), {})
from kubernetes.aio import config as kube_config  # noqa: E402
from kubernetes.aio.config.config_exception import ConfigException  # noqa: E402

del _client.ApiClient

__all__ = ["ConfigException", "RESTClientObject", "kube", "kube_config"]
