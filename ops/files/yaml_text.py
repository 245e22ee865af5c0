"""Objects as the text of YAML documents."""

import re
from collections.abc import Sequence
from typing import Any

import yaml


class _Plainly(yaml.SafeDumper):
    """Writes every value out: anchors make diffs hard to read."""

    def ignore_aliases(self, data: object) -> bool:
        """Never refer to an earlier value."""
        return True


def _lines(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """A text of several lines is written as lines; other line breaks than \\n YAML would take for that one."""
    style = '"' if _OTHER_BREAKS.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_OTHER_BREAKS = re.compile("[\r\x85\u2028\u2029]")


_Plainly.add_representer(str, _lines)


def yaml_text(values: Sequence[Any], *, width: int = 120) -> str:
    """One document per value; long texts are broken into lines of that width."""
    texts = [yaml.dump(one, Dumper=_Plainly, sort_keys=False, width=width, allow_unicode=True) for one in values]
    return "---\n".join(texts)
