"""Words for yes and no as people write them in labels and annotations, and as Kueue and HAMi, being written in Go, read them."""

_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")


def as_bool(text: object) -> bool | None:
    """Whether a text says yes; None when it says neither yes nor no."""
    return True if text in _TRUE else False if text in _FALSE else None
