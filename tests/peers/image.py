"""Build the image with buildah, without an engine: `python -m tests.peers.image`, as root, with Debian's buildah and debootstrap.

Where no registry of images can be reached, the base is made of Debian's own packages. Nothing of it touches the images of this machine:
all of it lies in .kuelog/peers/image.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from ops.production.deploy.__main__ import FOLDER
from tests.peers.build import PEERS
from tests.places import ROOT

STORE = PEERS / "image"
BASE, IMAGE = "localhost/python:3.11", "localhost/kuelog:built"
_PULLED = "docker.io/library/python:3.11-slim-bookworm"
_PACKAGES = "python3,python3-venv,ca-certificates"
_AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"


def why_not() -> str:
    """What is missing for a build here; empty when nothing is."""
    if shutil.which("buildah") is None:
        return (
            "there is no buildah on this machine: apt-get install buildah debootstrap, then python -m tests.peers.image"
        )
    if os.geteuid() != 0:
        return "buildah is asked to build without user namespaces: only root can"
    if (
        not STORE.exists()
        or subprocess.run(buildah("inspect", "--type", "image", BASE), capture_output=True, check=False).returncode
    ):
        return "there is no base image yet: python -m tests.peers.image"
    return ""


def buildah(*words: str) -> list[str]:
    """A command of buildah on a store of our own."""
    return [
        "buildah",
        "--root",
        str(STORE / "store"),
        "--runroot",
        str(STORE / "run"),
        "--storage-driver",
        "overlay",
        *words,
    ]


def build() -> None:
    """Build the image as it is now; layers that are as they were are taken over. Raises `CalledProcessError`."""
    run(
        "build",
        "--layers",
        *("--isolation", "chroot", "--network", "host"),
        *("--build-arg", f"PYTHON={BASE}"),
        # Packages may come through a mirror whose authority only this machine knows.
        *("--volume", f"{_AUTHORITIES}:{_AUTHORITIES}:ro"),
        *("--ignorefile", str(FOLDER / "Dockerfile.dockerignore"), "--file", str(FOLDER / "Dockerfile")),
        *("--tag", IMAGE, str(ROOT)),
    )


def make_base() -> None:
    """Take the base from its registry, or make one like it. Raises `CalledProcessError`."""
    if subprocess.run(buildah("pull", "--quiet", _PULLED), check=False).returncode == 0:
        run("tag", _PULLED, BASE)
        return
    print(f"{_PULLED} can't be had: the base is made of Debian's packages", flush=True)
    with TemporaryDirectory(prefix="kuelog-base-") as folder:
        words = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", folder]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        (Path(folder) / "usr" / "bin" / "python").symlink_to("python3")
        container = run("from", "scratch").strip()
        run("copy", container, folder, "/")
        run("commit", "--rm", container, BASE)


def run(*words: str) -> str:
    """What a command of buildah prints. Raises `CalledProcessError`."""
    return subprocess.run(buildah(*words), check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Build it, and say where it is."""
    STORE.mkdir(parents=True, exist_ok=True)
    for tool in ("buildah", "debootstrap"):
        if shutil.which(tool) is None:
            sys.exit(
                f"image: there is no {tool} on this machine: apt-get install buildah debootstrap, and run this again"
            )
    try:
        if why_not():
            make_base()
        build()
    except subprocess.CalledProcessError as failed:
        sys.exit(f"image: {' '.join(failed.cmd)} failed: it says above why")
    print(f"built {IMAGE}; {' '.join(buildah('images'))}")


if __name__ == "__main__":
    main()
