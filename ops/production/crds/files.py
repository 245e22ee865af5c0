"""The definitions as the text of YAML files, for `kubectl apply -f ops/production/crds`."""

from pathlib import Path

import yaml

from ops.production.crds.definitions import manifests

FOLDER = Path(__file__).parent
HEAD = "# Made by `python -m ops.production.crds` from events/api; change the structs there, not this file.\n"


class _Plainly(yaml.SafeDumper):
    """Writes every value out: anchors make diffs hard to read."""

    def ignore_aliases(self, data: object) -> bool:
        """Never refer to an earlier value."""
        return True


def documents() -> dict[str, str]:
    """The YAML of each CustomResourceDefinition by its file name."""
    return {
        f"{one['spec']['names']['plural']}.yaml": HEAD
        + yaml.dump(one, Dumper=_Plainly, sort_keys=False, width=120, allow_unicode=True)
        for one in manifests()
    }
