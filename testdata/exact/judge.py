"""Finds the cheapest nodes for pods, and proves that none are cheaper.

Reads a problem in JSON from each line of the standard input. Writes a line for each: the price of the cheapest nodes,
and whether that is proven. Otherwise the price is a lower bound. The solver is HiGHS.

A column is a node with the pods of each shape on it. The linear program over all columns is solved by column
generation. Then all columns are listed that a solution below an upper bound can have, by their reduced costs. HiGHS
chooses whole numbers of them.
"""

import json
import os
import sys

import highspy
import numpy

MOST_COLUMNS = 400_000
EPSILON = 1e-9


class Problem:
    def __init__(self, data):
        shapes, nodes = data["shapes"], undominated(data["nodes"])
        self.counts = numpy.array([s["count"] for s in shapes], dtype=float)
        self.needs = numpy.array([s["need"] for s in shapes], dtype=float)
        most = [min(s["count"], s["most"] or s["count"]) for s in shapes]
        self.most = numpy.array(most, dtype=int)
        self.limits = numpy.array(data["limits"] or [], dtype=float)
        self.free = numpy.array([n["free"] for n in nodes], dtype=float)
        self.price = numpy.array([n["price"] for n in nodes])
        self.holds = numpy.zeros((len(nodes), len(shapes)), dtype=bool)
        self.use = numpy.zeros((len(nodes), len(self.limits)))
        for i, n in enumerate(nodes):
            self.holds[i, n["holds"]] = True
            if n["limit"] >= 0:
                self.use[i, n["limit"]] = n["cores"]

    def fill(self, prices, limit_prices, threshold, beam=None):
        """Lists the fullest columns whose reduced cost is below the threshold, with these.

        A beam keeps only so many of the best partial columns of each step.
        """
        shapes, least = len(self.counts), 1e-12
        density = prices / (self.needs / self.free.max(axis=0)).sum(axis=1)
        order = numpy.argsort(-density, kind="stable")
        node = numpy.arange(len(self.price))
        cost = self.price + self.use @ limit_prices
        counts = numpy.zeros((len(node), shapes), dtype=numpy.int16)
        free = self.free.copy()
        value = numpy.zeros(len(node))
        for step, s in enumerate(order):
            room = numpy.where(self.holds[node, s], self.most[s], 0)
            for r in range(3):
                if self.needs[s, r] > 0:
                    room = numpy.minimum(room, numpy.floor(free[:, r] / self.needs[s, r]).astype(int))
            repeat = numpy.repeat(numpy.arange(len(node)), room + 1)
            first = numpy.cumsum(room + 1) - (room + 1)
            number = numpy.arange(len(repeat)) - numpy.repeat(first, room + 1)
            node, counts, free = node[repeat], counts[repeat], free[repeat] - number[:, None] * self.needs[s]
            value = value[repeat] + number * prices[s]
            counts[:, s] = number
            rest = order[step + 1 :]
            best = numpy.full(len(node), numpy.inf)
            for r in range(3):
                # What one of the resource is worth at most for the shapes that follow.
                with numpy.errstate(divide="ignore", invalid="ignore"):
                    worth = numpy.where(self.needs[rest, r] > 0, prices[rest] / self.needs[rest, r], numpy.inf)
                worth = worth[prices[rest] > 0]
                if len(worth) == 0:
                    best = numpy.zeros(len(node))
                elif numpy.isfinite(worth.max()):
                    best = numpy.minimum(best, free[:, r] * worth.max())
            all_of_them = (self.most[rest] * prices[rest]).sum() if len(rest) else 0.0
            best = numpy.minimum(best, all_of_them)
            reduced = cost[node] - value - best
            keep = reduced < threshold - least
            if beam is not None and keep.sum() > beam:
                keep &= reduced <= numpy.partition(reduced, beam)[beam]
            node, counts, free, value = node[keep], counts[keep], free[keep], value[keep]
            if beam is None and len(node) > 4 * MOST_COLUMNS:
                return None
        reduced = cost[node] - value
        full = numpy.ones(len(node), dtype=bool)
        for s in range(shapes):
            fits = (free >= self.needs[s]).all(axis=1) & self.holds[node, s] & (counts[:, s] < self.most[s])
            full &= ~fits
        keep = (reduced < threshold - least) & full
        return node[keep], counts[keep], reduced[keep]


def undominated(nodes):
    """Leaves out nodes if one costs no more and has no less of anything."""
    kept = []
    groups = {}
    for n in sorted(nodes, key=lambda n: (n["price"], [-f for f in n["free"]])):
        group = groups.setdefault((tuple(n["holds"]), n["limit"]), [])
        if not any(
            all(a >= b for a, b in zip(m["free"], n["free"])) and (n["limit"] < 0 or m["cores"] <= n["cores"])
            for m in group
        ):
            group.append(n)
            kept.append(n)
    return kept


def program(problem, node, counts):
    """Solves the linear program over these columns; returns its value and the dual prices of shapes and limits."""
    matrix = numpy.hstack([counts.astype(float), problem.use[node]])
    shapes, infinite = len(problem.counts), highspy.kHighsInf
    lower = numpy.concatenate([problem.counts, numpy.full(len(problem.limits), -infinite)])
    upper = numpy.concatenate([numpy.full(shapes, infinite), problem.limits])
    h = solver()
    h.passModel(model(problem.price[node], matrix, lower, upper))
    h.run()
    if h.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"the linear program is {h.getModelStatus()}")
    dual = numpy.array(h.getSolution().row_dual)
    return h.getInfo().objective_function_value, numpy.maximum(dual[:shapes], 0), numpy.maximum(-dual[shapes:], 0)


def whole_program(problem, node, counts, seconds):
    """Chooses whole numbers of the columns; returns their price, a lower bound, and whether nothing else is cheaper.

    Further variables are the numbers of nodes of each kind. All nodes together have room for all pods. Both follow from
    the columns, and let the solver prove more.
    """
    shapes, columns, infinite = len(problem.counts), len(node), highspy.kHighsInf
    kinds, kind = numpy.unique(node, return_inverse=True)
    first = numpy.hstack([counts.astype(float), problem.use[node], numpy.eye(len(kinds))[kind]])
    rooms = problem.free[kinds]
    first = numpy.hstack([first, numpy.zeros((columns, 3))])
    zeros = numpy.zeros((len(kinds), shapes + len(problem.limits)))
    scale = numpy.maximum((problem.counts[:, None] * problem.needs).sum(axis=0), 1)
    second = numpy.hstack([zeros, -numpy.eye(len(kinds)), rooms / scale])
    below = numpy.full(len(problem.limits), -infinite)
    lower = numpy.concatenate([problem.counts, below, numpy.zeros(len(kinds)), numpy.full(3, 1 - 1e-9)])
    upper = numpy.concatenate(
        [numpy.full(shapes, infinite), problem.limits, numpy.zeros(len(kinds)), numpy.full(3, infinite)]
    )
    prices = numpy.concatenate([problem.price[node], numpy.zeros(len(kinds))])
    lp = model(prices, numpy.vstack([first, second]), lower, upper)
    lp.integrality_ = [highspy.HighsVarType.kInteger] * (columns + len(kinds))
    h = solver()
    h.setOptionValue("mip_rel_gap", 1e-7)
    h.setOptionValue("mip_abs_gap", 1e-9)
    h.setOptionValue("time_limit", seconds)
    h.passModel(lp)
    h.run()
    status, info = h.getModelStatus(), h.getInfo()
    if status == highspy.HighsModelStatus.kInfeasible:
        return numpy.inf, numpy.inf, True
    value = info.objective_function_value if info.primal_solution_status == 2 else numpy.inf
    return value, info.mip_dual_bound, status == highspy.HighsModelStatus.kOptimal


def solver():
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("threads", 1)
    return h


def model(cost, matrix, lower, upper):
    """Makes a program with a row of the matrix for each column of the program."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = matrix.shape
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = numpy.zeros(len(cost)), numpy.full(len(cost), highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = lower, upper
    rows = numpy.nonzero(matrix)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = numpy.concatenate([[0], numpy.cumsum((matrix != 0).sum(axis=1))]).astype(numpy.int32)
    lp.a_matrix_.index_ = rows[1].astype(numpy.int32)
    lp.a_matrix_.value_ = matrix[rows]
    return lp


class Pool:
    """The columns so far, each once."""

    def __init__(self):
        self.node, self.counts, self.seen = [], [], set()

    def add(self, node, counts):
        """Adds columns, and returns how many of them are new."""
        before = len(self.node)
        for n, c in zip(node, counts):
            key = (int(n), c.tobytes())
            if key not in self.seen:
                self.seen.add(key)
                self.node.append(int(n))
                self.counts.append(c)
        return len(self.node) - before

    def add_best(self, found, most):
        """Adds the columns of the lowest reduced costs."""
        node, counts, reduced = found
        best = numpy.argsort(reduced, kind="stable")[:most]
        return self.add(node[best], counts[best])

    def all(self):
        return numpy.array(self.node), numpy.array(self.counts)


def solve(data, seconds=20.0):
    """Finds the price of the cheapest nodes that cost no more than data["price"], or proves a lower bound."""
    problem = Problem(data)
    pool = Pool()
    # A dear node of its own holds each pod, so that the first program has a solution.
    problem.price = numpy.append(problem.price, 10 * problem.price.max() + 1)
    problem.free = numpy.vstack([problem.free, problem.needs.max(axis=0)])
    problem.holds = numpy.vstack([problem.holds, numpy.ones(len(problem.counts), dtype=bool)])
    problem.use = numpy.vstack([problem.use, numpy.zeros(len(problem.limits))])
    pool.add([len(problem.price) - 1] * len(problem.counts), numpy.eye(len(problem.counts), dtype=numpy.int16))
    while True:
        value, prices, limit_prices = program(problem, *pool.all())
        found = problem.fill(prices, limit_prices, -10 * EPSILON, beam=300)
        if pool.add_best(found, 200):
            continue
        found = problem.fill(prices, limit_prices, -10 * EPSILON)
        if found is None:
            return {"optimum": 0.0, "proven": False}
        if not pool.add_best(found, 500):
            break
    # Whole numbers of the columns so far give the first upper bound.
    lower, upper = value, min(whole_program(problem, *pool.all(), seconds / 4)[0], data["price"])
    gap = upper - value
    for part in (0.1, 0.3, 1.0):
        if upper <= lower * (1 + 1e-7):
            break
        found = problem.fill(prices, limit_prices, gap * part + 1e-7)
        if found is None or len(found[0]) > MOST_COLUMNS:
            break
        got, bound, ended = whole_program(problem, found[0], found[1], seconds)
        # What costs less than the linear program and the threshold has these columns only.
        lower, upper = max(lower, min(value + gap * part, bound)), min(upper, got)
        if ended and (got <= value + gap * part or part == 1.0):
            lower = upper
    proven = upper <= lower * (1 + 1e-7)
    return {"optimum": upper if proven else lower, "proven": bool(proven)}


def main():
    # HiGHS prints its name to the standard output, which is for answers only.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        print(json.dumps(solve(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
