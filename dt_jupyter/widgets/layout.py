"""Layered layout of an acyclic graph: longest-path layers, barycentre ordering, few crossings.

Coordinates are pixels. `along` is the way the edges flow, `cross` the other way; a layout that
flows right has along = x. Nothing is random: the same graph is laid out the same.

Sources: Sugiyama, Tagawa, Toda 1981 (layers, barycentres); positions are the least-squares ones
under the order's minimal distances, by pooling adjacent violators.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

SWEEPS, SETTLES = 12, 30
_PORT, _PORT_SHARE = 9.0, 0.5
_APART = 1.6  # gaps between the parts of a graph, in gaps between boxes
_STRAIGHT = (1.0, 2.0, 8.0)  # pull between two boxes, box and way, way and way


@dataclass(frozen=True, slots=True)
class Box:
    """What is to be placed: a name and its size."""

    name: str
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Placed:
    """A box with its upper left corner and its layer, 0 for the first."""

    name: str
    x: float
    y: float
    width: float
    height: float
    layer: int


@dataclass(frozen=True, slots=True)
class Route:
    """An edge as points from the border of its source to that of its target. Points 1 and 2, 3 and
    4, … are the two ends of its straight ways past the layers between."""

    source: str
    target: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class GraphLayout:
    boxes: tuple[Placed, ...]
    routes: tuple[Route, ...]
    width: float
    height: float
    crossings: int


@dataclass(frozen=True, slots=True)
class _Step:
    """A place in a layer: a box, or the way of edge `edge` past the layer."""

    name: str
    edge: tuple[str, str] | None = None


_Layers = list[list[_Step]]
_Links = Mapping[_Step, tuple[_Step, ...]]


def layered(
    boxes: Sequence[Box],
    edges: Iterable[tuple[str, str]],
    *,
    rightward: bool,
    between_layers: float = 64,
    between_boxes: float = 20,
) -> GraphLayout:
    """Place boxes so that every edge follows the flow and no two boxes meet. The edges are
    (source, target), without cycles; one that is given twice is drawn once."""
    unique = tuple(dict.fromkeys(edges))
    layer_of = assign_layers([box.name for box in boxes], unique)
    chains = {edge: _chain(edge, layer_of) for edge in unique}
    before, after = _links(chains.values())
    parts = _ordered(boxes, layer_of, chains, before, after)
    sizes = {_Step(b.name): (b.height if rightward else b.width) for b in boxes}
    depths = {b.name: (b.width if rightward else b.height) for b in boxes}
    cross = _stacked(parts, sizes, before, after, between_boxes)
    spans = _spans(layer_of, depths, between_layers)
    geometry = _Geometry(rightward, cross, spans, layer_of, {b.name: b for b in boxes})
    placed = tuple(geometry.place(box) for box in boxes)
    routes = geometry.routes(chains)
    width = max((b.x + b.width for b in placed), default=0.0)
    height = max((b.y + b.height for b in placed), default=0.0)
    reach = [p for route in routes for p in route.points]
    width = max([width, *(x for x, _ in reach)])
    height = max([height, *(y for _, y in reach)])
    return GraphLayout(placed, routes, width, height, sum(crossings(p, after) for p in parts))


def assign_layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The longest path from a source gives the layer; a source then moves up to its consumers. A
    box without edges goes where there is room."""
    sources: dict[str, list[str]] = {name: [] for name in names}
    targets: dict[str, list[str]] = {name: [] for name in names}
    for source, target in edges:
        sources[target].append(source)
        targets[source].append(target)
    layer: dict[str, int] = {}
    for name in _topological(names, sources, targets):
        layer[name] = 1 + max((layer[s] for s in sources[name]), default=-1)
    for name in names:
        if targets[name] and not sources[name]:
            layer[name] = min(layer[t] for t in targets[name]) - 1
    alone = [name for name in names if not targets[name] and not sources[name]]
    depth = max(1 + max(layer.values(), default=0), round(len(alone) ** 0.5))
    return layer | {name: i % depth for i, name in enumerate(alone)}


def _topological(
    names: Sequence[str], sources: Mapping[str, Sequence[str]], targets: Mapping[str, Sequence[str]]
) -> list[str]:
    waits = {name: len(sources[name]) for name in names}
    order = [name for name in names if not waits[name]]
    for name in order:
        for target in targets[name]:
            waits[target] -= 1
            if not waits[target]:
                order.append(target)
    return order


def _chain(edge: tuple[str, str], layer_of: Mapping[str, int]) -> tuple[_Step, ...]:
    source, target = edge
    between = range(layer_of[source] + 1, layer_of[target])
    return (_Step(source), *(_Step(str(i), edge) for i in between), _Step(target))


def _links(chains: Iterable[tuple[_Step, ...]]) -> tuple[_Links, _Links]:
    before: dict[_Step, tuple[_Step, ...]] = {}
    after: dict[_Step, tuple[_Step, ...]] = {}
    for chain in chains:
        for one, two in itertools.pairwise(chain):
            after[one] = (*after.get(one, ()), two)
            before[two] = (*before.get(two, ()), one)
    return before, after


def _ordered(
    boxes: Sequence[Box],
    layer_of: Mapping[str, int],
    chains: Mapping[tuple[str, str], tuple[_Step, ...]],
    before: _Links,
    after: _Links,
) -> list[_Layers]:
    """Each connected part with its layers in order, the largest first; last, as one part, the
    boxes without edges."""
    depth = {
        step: i
        for chain in chains.values()
        for i, step in enumerate(chain, layer_of[chain[0].name])
    }
    depth |= {_Step(box.name): layer_of[box.name] for box in boxes}
    parts = []
    for steps in _parts(list(depth), before, after):
        own: _Layers = [[] for _ in range(1 + max(depth.values()))]
        for step in steps:
            own[depth[step]].append(step)
        parts.append(_untangled(own, before, after))
    return parts


def _parts(steps: Sequence[_Step], before: _Links, after: _Links) -> list[list[_Step]]:
    """Connected parts, each in depth-first order, which is already a fair one to start from."""
    seen: set[_Step] = set()
    parts = []
    for start in steps:
        stack, part = [start], []
        while stack:
            step = stack.pop()
            if step not in seen:
                seen.add(step)
                part.append(step)
                stack += [*reversed(after.get(step, ())), *reversed(before.get(step, ()))]
        parts.append(part)
    alone = [part[0] for part in parts if len(part) == 1]
    return [
        *sorted((p for p in parts if len(p) > 1), key=len, reverse=True),
        *([alone] * bool(alone)),
    ]


def _untangled(layers: _Layers, before: _Links, after: _Links) -> _Layers:
    """The order with the fewest crossings among the sweeps, then improved by exchanges."""
    best, fewest = [list(layer) for layer in layers], crossings(layers, after)
    current = [list(layer) for layer in layers]
    for sweep in range(SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        _sweep(current, before if down else after, down)
        if (found := crossings(current, after)) < fewest:
            best, fewest = [list(layer) for layer in current], found
    while fewest and _exchange(best, before, after):
        continue
    return best


def _sweep(layers: _Layers, links: _Links, down: bool) -> None:
    for i in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
        beside = {step: at for at, step in enumerate(layers[i - 1 if down else i + 1])}
        own = {step: at for at, step in enumerate(layers[i])}
        scale = max(len(beside), 1) / max(len(own), 1)
        mean = {
            s: fmean(beside[n] for n in links[s]) if s in links else at * scale
            for s, at in own.items()
        }
        layers[i].sort(key=lambda s, m=mean: m[s])  # type: ignore[misc]


def _exchange(layers: _Layers, before: _Links, after: _Links) -> bool:
    """Exchange neighbours where that removes crossings; whether any were."""
    at = {step: i for layer in layers for i, step in enumerate(layer)}
    better = False
    for layer in layers:
        for i in range(len(layer) - 1):
            one, two = layer[i], layer[i + 1]
            ends = [(links.get(one, ()), links.get(two, ())) for links in (before, after)]
            gain = sum(_tangles(u, v, at) - _tangles(v, u, at) for u, v in ends)
            if gain > 0:
                layer[i], layer[i + 1] = two, one
                at[one], at[two] = i + 1, i
                better = True
    return better


def _tangles(upper: Sequence[_Step], lower: Sequence[_Step], at: Mapping[_Step, int]) -> int:
    return sum(at[u] > at[v] for u in upper for v in lower)


def crossings(layers: _Layers, after: _Links) -> int:
    """Crossings between neighbouring layers: inversions of the order of the edges' far ends."""
    total = 0
    for one, two in itertools.pairwise(layers):
        at = {step: i for i, step in enumerate(two)}
        seen: list[int] = []
        for step in one:
            ends = sorted(at[n] for n in after.get(step, ()))
            total += sum(len(seen) - bisect.bisect_right(seen, end) for end in ends)
            for end in ends:
                bisect.insort(seen, end)
    return total


def _stacked(
    parts: Sequence[_Layers],
    sizes: Mapping[_Step, float],
    before: _Links,
    after: _Links,
    gap: float,
) -> dict[_Step, float]:
    """The centre of each step on the cross axis, one part beyond the other."""
    cross: dict[_Step, float] = {}
    edge = 0.0
    for layers in parts:
        own = _positions(layers, sizes, before, after, gap)
        cross |= {step: at + edge for step, at in own.items()}
        edge += gap * _APART + max(at + sizes.get(step, 0.0) / 2 for step, at in own.items())
    return cross


def _positions(
    layers: _Layers, sizes: Mapping[_Step, float], before: _Links, after: _Links, gap: float
) -> dict[_Step, float]:
    """The centre of each step on the cross axis, as near to its neighbours as the order allows."""
    at: dict[_Step, float] = {}
    for layer in layers:
        offset = 0.0
        for step in layer:
            at[step] = offset + sizes.get(step, 0.0) / 2
            offset += sizes.get(step, 0.0) + gap
    for settle in range(SETTLES):
        down = settle % 2 == 0
        for layer in layers if down else reversed(layers):
            links = [_pulls(s, before, after, settle) for s in layer]
            wanted = [
                sum(at[n] * pull for n, pull in own) / sum(pull for _, pull in own) for own in links
            ]
            weights = [sum(pull for _, pull in own) for own in links]
            gaps = [
                (sizes.get(a, 0.0) + sizes.get(b, 0.0)) / 2 + gap
                for a, b in itertools.pairwise(layer)
            ]
            at |= zip(layer, spread(wanted, weights, gaps), strict=True)
    edge = min((at[s] - sizes.get(s, 0.0) / 2 for s in at), default=0.0)
    return {step: value - edge for step, value in at.items()}


def _pulls(step: _Step, before: _Links, after: _Links, settle: int) -> list[tuple[_Step, float]]:
    """The neighbours with how hard each pulls: first those of one side, then of both. The ways past
    layers pull hardest, so that long edges are straight; a box without neighbours stays."""
    sides = (before, after) if settle >= SETTLES // 2 else ((before, after)[settle % 2],)
    near = [n for side in sides for n in side.get(step, ())]
    pulls = [(n, _STRAIGHT[bool(n.edge) + bool(step.edge)]) for n in near]
    return pulls or [(step, _STRAIGHT[0])]


def spread(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Positions with xᵢ₊₁ − xᵢ ≥ gapsᵢ that are nearest to `wanted`, in weighted least squares."""
    offsets = [0.0]
    for each in gaps:
        offsets.append(offsets[-1] + each)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, count
    for want, weight, offset in zip(wanted, weights, offsets, strict=False):
        mean, heft, count = want - offset, weight, 1
        while blocks and blocks[-1][0] >= mean:
            other, other_heft, other_count = blocks.pop()
            mean = (mean * heft + other * other_heft) / (heft + other_heft)
            heft, count = heft + other_heft, count + other_count
        blocks.append((mean, heft, count))
    flat = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=False)]


def _spans(
    layer_of: Mapping[str, int], depths: Mapping[str, float], gap: float
) -> list[tuple[float, float]]:
    """Where each layer begins and ends along the flow."""
    spans, start = [], 0.0
    for layer in range(1 + max(layer_of.values(), default=-1)):
        depth = max((depths[name] for name, at in layer_of.items() if at == layer), default=0.0)
        spans.append((start, start + depth))
        start += depth + gap
    return spans


@dataclass(frozen=True, slots=True)
class _Geometry:
    """Turns places on the two axes into x and y."""

    rightward: bool
    cross: Mapping[_Step, float]
    spans: Sequence[tuple[float, float]]
    layer_of: Mapping[str, int]
    boxes: Mapping[str, Box]

    def point(self, along: float, cross: float) -> tuple[float, float]:
        return (along, cross) if self.rightward else (cross, along)

    def size(self, name: str) -> tuple[float, float]:
        """(along, cross) of a box."""
        box = self.boxes[name]
        return (box.width, box.height) if self.rightward else (box.height, box.width)

    def start(self, name: str) -> float:
        """Where the box begins along the flow: in the middle of its layer."""
        low, high = self.spans[self.layer_of[name]]
        return low + (high - low - self.size(name)[0]) / 2

    def place(self, box: Box) -> Placed:
        _, breadth = self.size(box.name)
        x, y = self.point(self.start(box.name), self.cross[_Step(box.name)] - breadth / 2)
        return Placed(box.name, x, y, box.width, box.height, self.layer_of[box.name])

    def routes(self, chains: Mapping[tuple[str, str], tuple[_Step, ...]]) -> tuple[Route, ...]:
        out = self._ports(chains, leaving=True)
        into = self._ports(chains, leaving=False)
        return tuple(
            self._route(edge, chain, out[edge], into[edge]) for edge, chain in chains.items()
        )

    def _ports(
        self, chains: Mapping[tuple[str, str], tuple[_Step, ...]], *, leaving: bool
    ) -> dict[tuple[str, str], float]:
        """Where each edge meets its box on the cross axis: side by side, in the order in which
        they come."""
        ends: dict[str, list[tuple[float, tuple[str, str]]]] = {}
        for edge, chain in chains.items():
            near = self.cross[chain[1] if leaving else chain[-2]]
            ends.setdefault(edge[0] if leaving else edge[1], []).append((near, edge))
        ports = {}
        for name, found in ends.items():
            apart = min(_PORT, self.size(name)[1] * _PORT_SHARE / len(found))
            for i, (_, edge) in enumerate(sorted(found)):
                ports[edge] = self.cross[_Step(name)] + (i - (len(found) - 1) / 2) * apart
        return ports

    def _route(
        self, edge: tuple[str, str], chain: Sequence[_Step], leaves: float, enters: float
    ) -> Route:
        source, target = edge
        points = [self.point(self.start(source) + self.size(source)[0], leaves)]
        for layer, step in enumerate(chain[1:-1], self.layer_of[source] + 1):
            points += [self.point(end, self.cross[step]) for end in self.spans[layer]]
        points.append(self.point(self.start(target), enters))
        return Route(source, target, tuple(points))
