"""`python -m ops.schemas` writes docs/schema and docs/events.md anew."""

from ops.schemas.describe import FOLDER, documents

for name, text in documents().items():
    (FOLDER / name).write_bytes(text)
