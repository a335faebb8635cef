"""Checks the house rules without building anything.

Commands:

    python tests/house/checkers/check.py                all rules
    python tests/house/checkers/check.py RULE …         some rules
    python tests/house/checkers/check.py --all RULE …   also shows allowed offences
    python tests/house/checkers/check.py --shrink       removes repaired offences from the lists
    python tests/house/checkers/check.py --accept RULE … --reason WHY
                                                        lists today's offences, of all rules if none is named
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import layers
import names
import python_package
import python_statements
import sizes
import statements
import words
from rules import RULES
from rust_source import ROOT

RULE_MODULES = [layers, names, python_package, python_statements, sizes, statements, words]


def main() -> int:
    asked = argparse.ArgumentParser(description="The house rules")
    asked.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(RULES))
    asked.add_argument("--root", type=Path, default=ROOT)
    asked.add_argument("--all", action="store_true")
    asked.add_argument("--shrink", action="store_true")
    asked.add_argument("--accept", action="store_true")
    asked.add_argument("--reason", default="")
    given = asked.parse_args()
    root = given.root.resolve()
    failed = 0
    for name in given.rules or RULES:
        rule = RULES[name]
        if given.shrink:
            rule.shrink(root)
            continue
        if given.accept:
            rule.accept(root, given.reason)
            continue
        faults = (
            [f"{offence.where}: {offence.what}" for offence in rule.offences(root)] if given.all else rule.faults(root)
        )
        failed += bool(faults)
        print(f"{name}: {f'{len(faults)} faults' if faults else 'kept'}")
        for fault in faults:
            print(f"    {fault}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
