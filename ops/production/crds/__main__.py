"""`python -m ops.production.crds`: write the definitions as YAML files beside this one."""

from ops.production.crds.files import FOLDER, documents


def main() -> None:
    """Write every definition."""
    for name, text in documents().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"ops/production/crds/{name}")


if __name__ == "__main__":
    main()
