"""What kubectl asks for when it first applies anything is at hand before."""

from ops.sandbox.embedded_cluster.api import discovery
from ops.sandbox.embedded_cluster.api.built_in_fields import fields_of
from ops.sandbox.embedded_cluster.kinds import BUILT_IN


def test_documents_of_built_in_kinds_load_no_type_once_all_are_loaded() -> None:
    kinds = list(BUILT_IN)
    fields_of.cache_clear()
    discovery.load_built_in(kinds)
    loaded = fields_of.cache_info().misses
    assert loaded > 100
    documents = [discovery.openapi_document(path, kinds) for path in discovery.openapi_paths(kinds)["paths"]]
    assert sum(len(one["components"]["schemas"]) for one in documents) > 100
    assert fields_of.cache_info().misses == loaded
