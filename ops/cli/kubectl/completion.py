"""What `kubectl kuelog` may be followed by: kubectl asks an executable kubectl_complete-kuelog for it."""

import os
import shlex
import sys

from ops.cli.main import app

_NO_FILES = ":4"
"""In kubectl's words: these are all, and no file names."""


def main() -> None:
    """Answer kubectl with what typer would answer bash; of the words the last is the one to complete."""
    words = sys.argv[1:] or [""]
    os.environ.update(
        _KUELOG_COMPLETE="complete_bash",
        COMP_WORDS=shlex.join(["kuelog", *words[:-1]]) + " " + words[-1],
        COMP_CWORD=str(len(words)),
    )
    try:
        app(prog_name="kuelog")
    finally:
        print(_NO_FILES)  # noqa: T201 - for the shell


if __name__ == "__main__":
    main()
