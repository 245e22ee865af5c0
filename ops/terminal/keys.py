"""Keys of a terminal as they are pressed, without a line in between; the terminal is as it was afterwards."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

_SEQUENCES = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"\x1b[5~": "page up",
    b"\x1b[6~": "page down",
    b"\x1b[H": "home",
    b"\x1bOH": "home",
    b"\x1b[F": "end",
    b"\x1bOF": "end",
}
_ESCAPE = b"\x1b"
_AT_ONCE = 64


def keys_of(data: bytes) -> list[str]:
    """The keys behind what a terminal sends: `q`, `up`, `page down`, `escape`; what is not known is left out."""
    found: list[str] = []
    while data:
        known = next((one for one in _SEQUENCES if data.startswith(one)), None)
        if known is not None:
            found.append(_SEQUENCES[known])
            data = data[len(known) :]
        elif data == _ESCAPE:
            found.append("escape")
            data = b""
        elif data.startswith(_ESCAPE):
            # A sequence that is not known: it ends with a letter or a tilde.
            end = next((at for at in range(2, len(data)) if data[at : at + 1].isalpha() or data[at] == ord("~")), None)
            data = data[end + 1 :] if end is not None else b""
        else:
            found += [data[:1].decode()] if data[:1].isascii() else []
            data = data[1:]
    return found


@asynccontextmanager
async def keys(pressed: Callable[[str], None]) -> AsyncGenerator[None, None]:
    """Call `pressed` for each key while it lasts; where standard input is no terminal nothing is ever pressed."""
    if not sys.stdin.isatty():
        yield
        return
    loop, number = asyncio.get_running_loop(), sys.stdin.fileno()
    before = termios.tcgetattr(number)

    def read() -> None:
        for key in keys_of(os.read(number, _AT_ONCE)):
            pressed(key)

    tty.setcbreak(number)  # Ctrl-C stays a signal.
    loop.add_reader(number, read)
    try:
        yield
    finally:
        loop.remove_reader(number)
        termios.tcsetattr(number, termios.TCSADRAIN, before)
