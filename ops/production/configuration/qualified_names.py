"""Names that Kubernetes calls qualified, as keys of labels and resources have them: a word, and before it a domain where there is one."""

import re

_LONGEST_WORD, _LONGEST_DOMAIN = 63, 253
_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
"""One part of a domain."""
SUBDOMAIN = re.compile(rf"{LABEL.pattern}(\.{LABEL.pattern})*", re.ASCII)


def is_qualified(name: str) -> bool:
    """Whether it is such a name."""
    domain, slash, word = name.rpartition("/")
    named = len(word) <= _LONGEST_WORD and bool(_WORD.fullmatch(word))
    return named and (not slash or (len(domain) <= _LONGEST_DOMAIN and bool(SUBDOMAIN.fullmatch(domain))))
