"""Changes one operator, number or branch of a module at a time and lists the changes that no test notices.

    uv run python scripts/mutate.py src/stoic/core/loops/rules.py tests/core/loops --minutes 10
    uv run python scripts/mutate.py src/stoic/core/loops/rules.py tests/core/loops --lines 40-60

The tree stays as it is: every change is made in a copy of the package, and the tests run against that copy.
"""

import argparse
import ast
import copy
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node: it with one thing changed."""
    match node:
        case ast.Compare(left, ops, comparators):
            for place, one in enumerate(ops):
                yield ast.Compare(left, [*ops[:place], COMPARISONS[type(one)](), *ops[place + 1 :]], comparators)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.AugAssign(target, op, value) if type(op) in OPERATORS:
            yield ast.AugAssign(target, OPERATORS[type(op)](), value)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Expr(ast.Call()):
            yield ast.Pass()
        case ast.Constant(bool() | int() | float() as value):
            yield ast.Constant(not value if isinstance(value, bool) else value + 1)
        case _:
            return


class Replace(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, place: int, new: ast.AST) -> None:
        self.place, self.new, self.at = place, new, -1

    def visit(self, node: ast.AST) -> ast.AST:
        """Count nodes in the order of `ast.walk`'s twin below and replace the chosen one."""
        self.at += 1
        return self.new if self.at == self.place else self.generic_visit(node)


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes, parents first, in the order in which `Replace` visits them."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        yield from nodes(child)


def mutants(source: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield line, text before, text after and the whole changed source."""
    tree = ast.parse(source)
    for place, node in enumerate(nodes(tree)):
        for new in changes(node):
            changed = Replace(place, copy.deepcopy(new)).visit(copy.deepcopy(tree))
            whole = ast.unparse(ast.fix_missing_locations(changed))
            yield getattr(node, "lineno", 0), ast.unparse(node), ast.unparse(new), whole


def main() -> int:
    """Run the tests once for every change and print those that survive."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("module", type=Path)
    asked.add_argument("tests", nargs="+")
    asked.add_argument("--minutes", type=float, default=10)
    asked.add_argument("--lines", default="1-999999", help="the first and the last line to change")
    options = asked.parse_args()
    first, last = map(int, options.lines.split("-"))
    deadline = time.monotonic() + 60 * options.minutes
    source, survivors, done = (ROOT / options.module).read_text(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src" / "stoic", Path(folder) / "stoic", ignore=shutil.ignore_patterns("__pycache__"))
        target = Path(folder) / (ROOT / options.module).relative_to(ROOT / "src")
        environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-x", *options.tests]
        every = [one for one in mutants(source) if first <= one[0] <= last]
        for line, before, after, whole in every:
            if time.monotonic() > deadline:
                break
            target.write_text(whole)
            done += 1
            run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)  # noqa: S603  # our own tests
            if run.returncode == 0:
                survivors += 1
                print(f"SURVIVED {options.module.name}:{line}: {before}  ->  {after}", flush=True)
    print(f"{options.module.name}: {done} of {len(every)} changes tried, {survivors} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
