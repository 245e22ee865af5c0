"""Faults that tests order: the nth request that matches is refused."""

import msgspec

from ops.sandbox.embedded_cluster.failures import ApiFailure


class RequestFault(msgspec.Struct):
    """Refuse requests of this method whose path holds this text, after so many have passed, so many times."""

    method: str
    path: str
    code: int
    reason: str = "InternalError"
    after: int = 0
    times: int = 1
    retry_after: int | None = None


class Faults:
    """The faults that are still to strike."""

    def __init__(self) -> None:
        self._ordered: list[RequestFault] = []

    def order(self, fault: RequestFault) -> None:
        """Have a fault strike."""
        self._ordered.append(fault)

    def strike(self, method: str, path: str) -> None:
        """Raise the refusal that is due for this request, if any."""
        for fault in self._ordered:
            if fault.method != method or fault.path not in path or fault.times <= 0:
                continue
            if fault.after > 0:
                fault.after -= 1
                continue
            fault.times -= 1
            raise ApiFailure(fault.code, fault.reason, "refused by order of a test", retry_after=fault.retry_after)
