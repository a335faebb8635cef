"""The sizes of data files on a page, as a histogram."""

from __future__ import annotations

from collections import Counter

from frazil.display.figures import amount, bytes_text, number
from frazil.display.tables import escaped
from frazil.report.parts import Section, folded, note, picture, section
from frazil.report.plan import Plan

__all__ = ["size_section"]

_WIDTH, _HEIGHT, _BOTTOM, _TOP = 1000, 220, 40, 18


def size_section(plan: Plan) -> Section | None:
    """How many data files there are of each size. A bar is for sizes up to twice as large as those before."""
    if plan.unit != "file" or not plan.objects.num_rows:
        return None
    import pyarrow.compute as pc

    data = plan.objects.filter(pc.invert(plan.objects.column("is_delete")))
    sizes = data.column("size").to_pylist()
    if not sizes:
        return None
    # Sizes from 2**(n - 1) to 2**n - 1 have n bits.
    counts = Counter(size.bit_length() for size in sizes)
    bars = [(bits, counts[bits]) for bits in range(min(counts), max(counts) + 1)]
    ranges = [_range(bits) for bits, _ in bars]
    said = f"{amount(len(sizes), 'data file')}, {bytes_text(sum(sizes) // len(sizes))} on average."
    shapes = []
    step = _WIDTH / max(len(bars), 6)
    most = max(counts.values())
    for at, ((_, count), text) in enumerate(zip(bars, ranges, strict=True)):
        height = (_HEIGHT - _BOTTOM - _TOP) * count / most
        x, y = at * step, _HEIGHT - _BOTTOM - height
        middle = x + step / 2
        shapes.append(
            f"<g><title>{escaped(text)}: {amount(count, 'file')}</title>"
            f'<rect class="bar" x="{x + 2:.1f}" y="{y:.1f}" width="{step - 4:.1f}" height="{height:.1f}"/>'
            f'<text class="t m" x="{middle:.1f}" y="{y - 4:.1f}">{number(count) if count else ""}</text>'
            f'<text class="t m" x="{middle:.1f}" y="{_HEIGHT - _BOTTOM + (16 if at % 2 == 0 else 32)}">'
            f"{escaped(text.partition(' to ')[0])}</text></g>"
        )
    rows = [(text, number(count)) for text, (_, count) in zip(ranges, bars, strict=True)]
    return section(
        "sizes",
        "Sizes of data files",
        note(f"{said} Each bar starts at the size below it and ends at twice the size."),
        picture(_WIDTH, _HEIGHT, "Number of data files of each size", shapes),
        folded("Sizes as a table", ("size", "files"), rows, len(rows)),
    )


def _range(bits: int) -> str:
    """The sizes with a number of bits: `1.0 KiB to 2.0 KiB`."""
    if bits == 0:
        return "0 B"
    return f"{bytes_text(1 << bits - 1)} to {bytes_text(1 << bits)}"
