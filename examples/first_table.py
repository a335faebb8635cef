"""Makes a table, adds rows, and reads some of them back.

Run: python examples/first_table.py [FOLDER]. Without a folder, it uses a temporary one.
"""

import datetime as dt
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import frazil as fz


def main(folder: Path) -> None:
    # A file-system catalog is a folder. Each namespace is a folder in it, and each table a folder in that.
    catalog = fz.catalog("examples", warehouse=folder)
    catalog.create_namespace("shop", if_not_exists=True)
    if catalog.table_exists("shop.orders"):
        catalog.drop_table("shop.orders")  # left by an earlier run

    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("day", pa.date32()),
            pa.field("country", pa.string()),
            pa.field("amount", pa.float64()),
        ]
    )
    # Rows of one country go to the same files, so a filter on the country opens only those.
    orders = catalog.create_table("shop.orders", schema, partition_by=["country"])
    print("Schema:")
    print(orders.schema)

    first = dt.date(2026, 1, 1)
    rows = [
        {"id": n, "day": first + dt.timedelta(n), "country": ("NO", "SE", "DK")[n % 3], "amount": n * 10.0}
        for n in range(9)
    ]
    # Each append is one commit. Other readers see all of its rows or none.
    orders.append(pa.Table.from_pylist(rows, schema=schema))
    print("\nAfter the append:", orders)

    # A scan says what to read. It does nothing until you ask for rows, a count or a plan.
    scan = orders.scan("country = 'NO' and amount >= 30", select=["id", "amount"])
    print("\nRows:", sorted(scan.to_arrow().to_pylist(), key=lambda row: row["id"]))
    print("Count:", scan.count())

    # The same table, opened later by its name.
    again = fz.catalog("examples", warehouse=folder).load_table("shop.orders")
    print("All rows:", again.scan().count())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
