"""Several processes write files of one table. One process commits them all together.

Run: python examples/distributed_write.py [FOLDER]. Without a folder, it uses a temporary one.
"""

import multiprocessing
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import frazil as fz

SCHEMA = pa.schema([("sensor", pa.int64()), ("reading", pa.float64())])


def work(job: tuple[fz.Writer, int]) -> fz.CommitMessage:
    """Runs in a worker process. Writes files, but does not change the table."""
    writer, sensor = job
    readings = pa.table([[sensor] * 1000, [sensor + n / 1000 for n in range(1000)]], schema=SCHEMA)
    return writer.write(readings)


def main(folder: Path) -> None:
    catalog = fz.catalog("examples", warehouse=folder)
    catalog.create_namespace("plant", if_not_exists=True)
    if catalog.table_exists("plant.readings"):
        catalog.drop_table("plant.readings")  # left by an earlier run
    readings = catalog.create_table("plant.readings", SCHEMA, partition_by=["bucket(4, sensor)"])

    # Writers and messages pickle. So they also travel through Spark, Ray, Dask or a queue.
    jobs = [(readings.writer(task=sensor), sensor) for sensor in range(6)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        messages = pool.map(work, jobs)
    print("Rows before the commit:", readings.scan().count())

    # One commit for all messages. The same messages, committed again, change nothing.
    readings.commit(messages)
    readings.commit(messages)
    print("Rows after it:", readings.scan().count(), "in", len(readings.snapshots), "snapshot")

    # A job that gives up removes the files that its writers wrote.
    unwanted = work((readings.writer(task=7), 7))
    readings.abort([unwanted])
    print("Rows after another job gave up:", readings.refresh().scan().count())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
