"""Objects as the text of YAML documents."""

from collections.abc import Sequence
from typing import Any

import yaml


class _Plainly(yaml.SafeDumper):
    """Writes every value out: anchors make diffs hard to read."""

    def ignore_aliases(self, data: object) -> bool:
        """Never refer to an earlier value."""
        return True


def yaml_text(values: Sequence[dict[str, Any]]) -> str:
    """One document per object."""
    texts = [yaml.dump(one, Dumper=_Plainly, sort_keys=False, width=120, allow_unicode=True) for one in values]
    return "---\n".join(texts)
