"""A thousand months, billed by kuelog and by the auditor: `python -m tests.laws.months [--months 1000] [--seed 1]`."""

import argparse

from tests.laws.months.comparing import differences, seen_in
from tests.laws.months.random_months import MONTHS, lived_months


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--months", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    lives = -(-asked.months // len(MONTHS))
    wrong, total = 0, seen_in(lived_months(asked.seed))
    for seed in range(asked.seed, asked.seed + lives):
        life = lived_months(seed)
        total.update(seen_in(life) if seed > asked.seed else {})
        for one in differences(life):
            wrong += 1
            print(f"seed {seed}: {one}", flush=True)
    said = ", ".join(f"{count:,} {what}" for what, count in sorted(total.items()))
    print(f"{lives * len(MONTHS):,} months: {said}; {wrong} differences")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
