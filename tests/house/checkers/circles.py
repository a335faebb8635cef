"""Circles in a graph of imports, and where they are cheapest to cut."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)
Edge = tuple[Node, Node]


def circles(edges: Iterable[Edge]) -> list[list[Node]]:
    """The strongly connected components with at least two nodes, the largest first.

    This is Tarjan's algorithm with a list of steps instead of recursion.
    """
    below: dict[Node, list[Node]] = {}
    for start, end in sorted(set(edges)):
        below.setdefault(start, []).append(end)
        below.setdefault(end, [])
    number: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    open_nodes: list[Node] = []
    is_open: set[Node] = set()
    found = []
    for root in below:
        if root in number:
            continue
        steps = [(root, iter(below[root]))]
        number[root] = lowest[root] = len(number)
        open_nodes.append(root)
        is_open.add(root)
        while steps:
            node, rest = steps[-1]
            for child in rest:
                if child not in number:
                    number[child] = lowest[child] = len(number)
                    open_nodes.append(child)
                    is_open.add(child)
                    steps.append((child, iter(below[child])))
                    break
                if child in is_open:
                    lowest[node] = min(lowest[node], number[child])
            else:
                steps.pop()
                if steps:
                    lowest[steps[-1][0]] = min(lowest[steps[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    at = open_nodes.index(node)
                    component = open_nodes[at:]
                    del open_nodes[at:]
                    is_open.difference_update(component)
                    if len(component) > 1:
                        found.append(sorted(component))
    return sorted(found, key=lambda component: (-len(component), component))


def inside(edges: Iterable[Edge], component: Iterable[Node]) -> list[Edge]:
    """The edges between nodes of a component."""
    nodes = set(component)
    return [edge for edge in edges if edge[0] in nodes and edge[1] in nodes]


def cuts(weights: Mapping[Edge, int], preferred: Iterable[Edge] = ()) -> list[Edge]:
    """Edges whose removal leaves no circle, the lightest first.

    Preferred edges are chosen before others, and light edges before heavy ones. Each chosen edge is needed: a circle
    remains if that edge stays.
    """
    preferred = set(preferred) & set(weights)
    left = {edge: weight for edge, weight in weights.items() if edge not in preferred}
    chosen = set(preferred)
    for component in circles(left):
        chosen.update(_against_order({edge: left[edge] for edge in inside(left, component)}))
    for edge in sorted(chosen, key=lambda edge: (edge in preferred, -weights[edge], edge)):
        if not circles(other for other in weights if other not in chosen or other == edge):
            chosen.discard(edge)
    return sorted(chosen, key=lambda edge: (weights[edge], edge))


def _against_order(weights: Mapping[Edge, int]) -> list[Edge]:
    """The edges that run against an order of the nodes, which the rule of Eades, Lin and Smyth finds."""
    left = {node for edge in weights for node in edge}
    first: list[Node] = []
    last: list[Node] = []
    while left:
        kept = {edge: weight for edge, weight in weights.items() if edge[0] in left and edge[1] in left}
        leaving = _sums(kept, 0)
        entering = _sums(kept, 1)
        if sinks := sorted(node for node in left if not leaving.get(node)):
            last[:0] = sinks
            left.difference_update(sinks)
        elif sources := sorted(node for node in left if not entering.get(node)):
            first.extend(sources)
            left.difference_update(sources)
        else:
            node = max(sorted(left), key=lambda node: leaving[node] - entering[node])
            first.append(node)
            left.discard(node)
    place = {node: at for at, node in enumerate([*first, *last])}
    return [edge for edge in weights if place[edge[0]] > place[edge[1]]]


def _sums(weights: Mapping[Edge, int], end: int) -> dict[Node, int]:
    sums: dict[Node, int] = {}
    for edge, weight in weights.items():
        sums[edge[end]] = sums.get(edge[end], 0) + weight
    return sums


def opened_by(weights: Mapping[Edge, int], size: Callable[[list[Edge]], int]) -> list[tuple[int, Edge]]:
    """Each edge with how many nodes leave circles when it alone is cut; those that open most for their weight first."""
    whole = size(list(weights))
    found = [(whole - size([other for other in weights if other != edge]), edge) for edge in weights]
    return sorted((gain, edge) for gain, edge in found if gain > 0)[::-1]
