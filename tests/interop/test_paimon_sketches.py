"""Aggregate functions over sketches and bitmaps: the same bytes as Java's."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from paimon_java import Paimon, PaimonTable, PaimonType

import frazil as fz

COLUMNS: dict[str, PaimonType] = {"id": "INT NOT NULL", "v": "BYTES"}


def table(paimon: Paimon, function: str) -> PaimonTable:
    options = {
        "bucket": 1,
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": function,
        "write-only": "true",
    }
    return paimon.create(function, COLUMNS, ["id"], options=options)


def check(made: PaimonTable, steps: list[list[bytes | None]], of: Callable[[bytes | None], object]) -> None:
    """Of rows of the same keys, written one commit after the other; `of` a value is what must be the same."""
    for step in steps:
        made.write(list(enumerate(step)))
    for compact in (False, True):
        if compact:
            made.open().maintain.compact()
        java, mine = made.read().rows.sort_by("id"), made.open().scan().to_arrow().sort_by("id")
        for row, other in zip(java.to_pylist(), mine.to_pylist(), strict=True):
            assert (row["id"], of(row["v"])) == (other["id"], of(other["v"]))


def ordered(sketch: bytes | None) -> object:
    """A HyperLogLog sketch without what depends on the order in which values came.

    That are the places of few values in a table, the estimate that goes by the order, and the size in memory of the
    table of exceptions.
    """
    if sketch is None or sketch[2] != 7:
        return sketch
    if sketch[7] & 3 == 2:
        return sketch[:4] + sketch[5:8] + sketch[16:]
    start = 4 * sketch[0]
    return sketch[:start], sorted(sketch[i : i + 4] for i in range(start, len(sketch), 4))


def long_bitmap(paimon: Paimon) -> Any:
    return paimon.api.shade.org.roaringbitmap.longlong.Roaring64Bitmap()


def stored(paimon: Paimon, bitmap: Any) -> bytes:
    out = paimon.jvm.java.io.ByteArrayOutputStream()
    bitmap.serialize(paimon.jvm.java.io.DataOutputStream(out))
    return bytes(out.toByteArray())


def long_bitmaps(paimon: Paimon) -> list[bytes]:
    """Of containers of all forms, and of trees with branches of all sizes at several levels, also after removals."""
    generator = random.Random(3)
    signed = lambda n: (n + 2**63) % 2**64 - 2**63  # noqa: E731
    scattered = [signed(generator.getrandbits(64)) for _ in range(700)]
    numbers = [[], [0], [-1], [5, -5, 2**63 - 1, -(2**63)], [1, 2, 3, 4, 2**40, 2**40 + 2**16], scattered]
    for level in (16, 24, 40, 56):
        for count in (4, 5, 16, 17, 48, 49, 256):
            keys = generator.sample(range(256), count)
            numbers.append([signed((key << level) + generator.randrange(9)) for key in keys])
    bitmaps = []
    for listed in numbers:
        bitmap = long_bitmap(paimon)
        for number in listed:
            bitmap.addLong(number)
        bitmaps.append(bitmap)
        if len(listed) > 16:
            less = bitmap.clone()
            for number in generator.sample(listed, len(listed) - generator.randrange(1, 15)):
                less.removeLong(number)
            bitmaps.append(less)
    for step in (2, 3, 7):
        dense = long_bitmap(paimon)
        paimon.loops.each(dense, "addLong", 2**40, 2**40 + 3000, step)
        bitmaps.append(dense)
    # Ranges are runs; without every other number they are bitmaps.
    for start, end in [(0, 300), (100, 70_000), (-70_000, -3), (2**40 - 9, 2**40 + 400 * 2**16), (-(2**63), 3 - 2**63)]:
        run = long_bitmap(paimon)
        run.addRange(start, end)
        bitmaps.append(run)
    holes = bitmaps[-4].clone()
    paimon.loops.each(holes, "removeLong", 200, 20_000, 2)
    return [stored(paimon, bitmap) for bitmap in [*bitmaps, holes]]


def test_long_bitmaps(paimon: Paimon) -> None:
    made = long_bitmaps(paimon)
    generator = random.Random(5)
    made_of = table(paimon, "rbm64")
    steps = [[generator.choice([*made, None]) for _ in range(250)] for _ in range(4)]
    check(made_of, steps, lambda bitmap: bitmap)
    # Both go on with what Frazil made.
    check(made_of, [[*reversed(step)] for step in steps[:2]], lambda bitmap: bitmap)
    made_of.write([(0, made[3])], ["-D"])
    with pytest.raises(fz.InvalidInputError, match="rbm64"):
        made_of.open().scan().to_arrow()
    with pytest.raises(Exception, match="not support retract"):
        made_of.read()


def test_theta(paimon: Paimon) -> None:
    sketch = paimon.api.utils.ThetaSketch.sketchOf
    parts = [range(0), range(1), range(5), range(3, 2000), range(1500, 9000), range(100_000, 130_000)]
    made = [bytes(sketch(paimon.loops.ints(part.start, part.stop))) for part in parts]
    # Sketches that still take values, more than the union keeps, and out of order.
    theta = paimon.jvm.org.apache.datasketches.theta
    for nominal in (16, 4096, 16384):
        alive = theta.UpdateSketch.builder().setNominalEntries(nominal).build()
        paimon.loops.each(alive, "update", 500, 7000, 3)
        made += [bytes(alive.toByteArray()), bytes(alive.compact(False, None).toByteArray())]
    alpha = theta.UpdateSketch.builder().setFamily(paimon.jvm.org.apache.datasketches.common.Family.ALPHA).build()
    paimon.loops.each(alpha, "update", 2000, 12000, 1)
    made.append(bytes(alpha.toByteArray()))
    steps: list[list[bytes | None]] = [[*made, None], [*reversed(made), made[4]], [*made[3:], *made[:3], made[3]]]
    check(table(paimon, "theta_sketch"), steps, ordered)


def test_hll(paimon: Paimon) -> None:
    sketch = paimon.api.utils.HllSketchUtil.sketchOf
    parts = [range(0), range(1), range(7), range(5, 60), range(40, 700), range(600, 9000), range(50_000, 90_000)]
    made = [bytes(sketch(paimon.loops.ints(part.start, part.stop))) for part in parts]
    hll = paimon.jvm.org.apache.datasketches.hll
    for lg_k in (4, 10, 12, 14):
        for kind in ("HLL_4", "HLL_6", "HLL_8"):
            for count in (3, 100, 5000):
                alive = hll.HllSketch(lg_k, getattr(hll.TgtHllType, kind))
                paimon.loops.each(alive, "update", lg_k * 1000, lg_k * 1000 + count, 1)
                made += [bytes(alive.toCompactByteArray()), bytes(alive.toUpdatableByteArray())]
    generator = random.Random(5)
    steps: list[list[bytes | None]] = [[generator.choice(made) for _ in range(80)] for _ in range(3)]
    made_of = table(paimon, "hll_sketch")
    check(made_of, steps, ordered)
    # Java goes on with what Frazil made, and estimates the same.
    made_of.compact({"write-only": "false"})
    for row in made_of.open().scan().to_arrow().to_pylist():
        sketch = paimon.jvm.org.apache.datasketches.hll.HllSketch.heapify(row["v"])
        assert sketch.getCompositeEstimate() >= 0
