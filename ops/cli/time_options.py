"""How fast time runs for a command: the option by which a person says so, and what it may be."""

from typing import Annotated

import typer

SLOWEST, FASTEST = 0.01, 1000.0
Scale = Annotated[float, typer.Option(min=SLOWEST, max=FASTEST, help="How fast time runs; as the embedded cluster's.")]
