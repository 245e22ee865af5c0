"""The image as far as it can be checked without building it."""

import re
import tomllib

from ops.production.deploy.__main__ import FOLDER
from tests.places import ROOT

PIN = re.compile(r"(?m)^([a-z0-9-]+)==(\S+)")


def pins(text: str) -> dict[str, str]:
    return dict(PIN.findall(text))


def test_the_image_holds_what_the_lock_file_holds_and_all_that_kuelog_needs() -> None:
    whole, image = pins((ROOT / "requirements.lock").read_text()), pins((FOLDER / "image.lock").read_text())
    assert image.items() <= whole.items(), "make lock"
    assert pins((FOLDER / "build.lock").read_text()).items() <= whole.items()
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.split(r"[><=]", one)[0] for one in wanted} <= set(image), "make lock"
    assert not {"pytest", "ruff", "basedpyright", "hypothesis"} & set(image)


def test_the_image_runs_without_root_and_takes_only_pinned_packages() -> None:
    text = (FOLDER / "Dockerfile").read_text()
    last = text.rpartition("\nFROM ")[2]
    user = re.search(r"(?m)^USER (\d+):\d+$", last)
    assert user is not None and int(user.group(1)) > 0
    for line in re.findall(r"pip install [^&\n]*", text):
        assert "--require-hashes" in line or "--no-deps" in line
    copied = set(re.findall(r"(?m)^COPY (\w+) \1$", text))
    assert copied == {"events", "projections", "services", "ops"}
