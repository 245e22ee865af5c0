"""A page of the console drawn without a browser: its own script, an answer, and as much of a document as that needs."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.places import ROOT

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="there is no node on this machine that runs scripts"
)
_DOCUMENT = """
globalThis.Node = class {};
class Made extends Node {
  children = [];
  setAttribute() {}
  addEventListener() {}
  querySelector() { return null; }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  get childElementCount() { return this.children.length; }
  get textContent() { return this.children.map((one) => one?.textContent ?? String(one)).join(" "); }
}
globalThis.document = { createElement: () => new Made(), createElementNS: () => new Made() };
const [name, hash, answer] = process.argv.slice(2);
globalThis.location = { hash };
globalThis.fetch = async () => new Response(answer, { headers: { "Content-Type": "application/json" } });
const [page, { place }] = [await import(`./${name}.js`), await import("./place.js")];
const main = new Made();
await (page.show ?? page.differ)(main, place(), undefined);
console.log(main.textContent);
"""


def shown(folder: Path, page: str, address: str, data: Any) -> str:
    """The text of a page at an address, when that is what its question is answered."""
    shutil.copytree(ROOT / "ops" / "console" / "pages", folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "draw.js").write_text(_DOCUMENT)
    answer = msgspec.json.encode({"data": data, "as_of": {"at": 0, "sequences": {}, "live": True}}).decode()
    command = ["node", "draw.js", page, address, answer]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return done.stdout
