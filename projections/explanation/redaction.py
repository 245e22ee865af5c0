"""What a tenant may read: names from namespaces that are not theirs are left out, wherever they stand."""

import re
from collections.abc import Iterable
from typing import Any

from events.json_object import is_array, is_object

HIDDEN = "another namespace's"


class Redaction:
    """Hides `namespace/name` of every namespace but one, also inside of messages; numbers stay."""

    def __init__(self, own: str, namespaces: Iterable[str]) -> None:
        foreign = sorted((name for name in set(namespaces) if name and name != own), key=len, reverse=True)
        names = "|".join(re.escape(name) for name in foreign)
        self._pattern = re.compile(rf"(?<![\w./-])(?:pod:)?(?:{names})/[\w.*-]+") if names else None
        self._numbers: dict[str, int] = {}

    def of(self, value: Any) -> Any:
        """A plain value with every foreign name replaced; the same name by the same number."""
        if isinstance(value, str):
            return self.text(value)
        if is_object(value):
            return {self.of(name): self.of(each) for name, each in value.items()}
        if is_array(value):
            return [self.of(each) for each in value]
        return value

    def text(self, text: str) -> str:
        """A text with every foreign name replaced."""
        return text if self._pattern is None else self._pattern.sub(self._number, text)

    def _number(self, found: re.Match[str]) -> str:
        number = self._numbers.setdefault(found.group(), len(self._numbers) + 1)
        return f"{HIDDEN} #{number}"
