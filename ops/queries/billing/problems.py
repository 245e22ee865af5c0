"""What can be wrong with a question about bills, or with what is entered for them: each says what to do instead."""

from pathlib import Path

from ops.files.whole_file import write_whole


class BillRefused(Exception):
    """A bill, a price list or a correction that can't be made as asked. The message says why, and what to write."""


class NothingToBill(BillRefused):
    """The log is empty."""

    def __init__(self) -> None:
        super().__init__("the log is empty: there is nothing to bill")


def put(file: Path, data: bytes) -> None:
    """Replace a file that somebody has named. Raises `BillRefused`."""
    try:
        write_whole(file, data)
    except OSError as problem:
        raise BillRefused(f"{file} can't be written: {problem.strerror or problem}") from problem
