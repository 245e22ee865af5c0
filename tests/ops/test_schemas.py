from ops.schemas.describe import FOLDER, documents


def test_the_described_schemas_are_current() -> None:
    for name, text in documents().items():
        assert (FOLDER / name).read_bytes() == text, f"docs/{name} is old: python -m ops.schemas"
