"""What can be wrong with a question about bills, or with what is entered for them: each says what to do instead."""


class BillRefused(Exception):
    """A bill, a price list or a correction that can't be made as asked. The message says why, and what to write."""


class NothingToBill(BillRefused):
    """The log is empty."""

    def __init__(self) -> None:
        super().__init__("the log is empty: there is nothing to bill")
