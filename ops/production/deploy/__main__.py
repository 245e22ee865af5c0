"""`python -m ops.production.deploy`: write the chart and the plain manifests beside this file."""

from pathlib import Path

from ops.production.deploy.chart import chart_files, manifest_files

FOLDER = Path(__file__).parent


def main() -> None:
    """Write everything."""
    for folder, files in (("chart", chart_files()), ("manifests", manifest_files())):
        for name, text in files.items():
            path = FOLDER / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(FOLDER.parent.parent))


if __name__ == "__main__":
    main()
