"""The faults that tests.mutants puts into functions, listed by hand."""

import json
from collections.abc import Iterable

from tests.mutants import (
    ROOT,
    Edit,
    Mutant,
    draw,
    javascript_functions,
    mutant,
    python_functions,
    python_texts,
    stages,
)

PYTHON = '''
def f(a: int = 2, b: tuple[1] = ()) -> bool:
    """1 < 2"""
    return not (a) < (b) and -a[b]

class C:
    def g(self, n):
        n += f"{1}"
        return range(n) if n is not None or True else 0.5
'''


def faults(text: str, functions: Iterable[tuple[str, list[Edit]]]) -> dict[str, list[str]]:
    return {
        name: sorted(mutant("a file", name, text, edit).becomes for edit in edits)
        for name, edits in functions
    }


def test_faults_of_python() -> None:
    assert faults(PYTHON, python_functions(PYTHON)) == {
        "f": [
            "def f(a: int = 3, b: tuple[1] = ()) -> bool:",
            "return (-a[b])",
            "return (a) < (b) and -a[b]",
            "return (not (a) < (b))",
            "return not (a) < (b) and -a[b + 1]",
            "return not (a) < (b) and a[b]",
            "return not (a) < (b) or -a[b]",
            "return not (a) <= (b) and -a[b]",
        ],
        "C.g": [
            'n -= f"{1}"',
            "return range((n) - 1) if n is not None or True else 0.5",
            "return range(n) if (True) else 0.5",
            "return range(n) if (n is not None) else 0.5",
            "return range(n) if n is None or True else 0.5",
            "return range(n) if n is not None and True else 0.5",
            "return range(n) if n is not None or False else 0.5",
            "return range(n) if n is not None or True else 1.5",
        ],
    }


def test_faults_of_javascript() -> None:
    text = "\nconst f = (a) => (a) < 3;\n"
    a, three = {"type": "Identifier", "range": [19, 20]}, {"type": "Literal", "value": 3}
    compared = {"type": "BinaryExpression", "operator": "<", "left": a, "range": [18, 25]}
    body = {**compared, "right": {**three, "range": [24, 25]}}
    made = {"id": {"name": "f"}, "init": {"type": "ArrowFunctionExpression", "body": body}}
    tree = {"body": [{"type": "VariableDeclaration", "declarations": [made]}]}
    assert faults(text, javascript_functions(text, tree)) == {
        "f": ["const f = (a) => (a) < 4;", "const f = (a) => (a) <= 3;"]
    }


def test_a_seed_draws_the_same_and_nothing_twice() -> None:
    functions = {
        ("a file", name): [mutant("a file", name, PYTHON, edit) for edit in edits]
        for name, edits in python_functions(PYTHON)
    }
    drawn = draw(functions, 1, 10)
    assert drawn == draw(functions, 1, 10) != draw(functions, 2, 10)
    assert len({one.key for one in drawn}) == 10


def test_every_group_of_the_instruments_is_drawn_from_and_tested_by_its_own_tests() -> None:
    groups = {path.parent.name for path in python_texts(ROOT)}
    assert groups == {"probe", "capture", "measure", "intervene", "explain"}
    first, rest = stages(ROOT, "vitviz/probe/capture/grid.py")
    assert "tests/test_grid.py" in first
    assert "tests/test_chance.py" in rest


def test_what_is_named_as_equivalent_is_there() -> None:
    texts = {str(path.relative_to(ROOT)): text for path, text in python_texts(ROOT).items()}
    there = {
        mutant(file, name, text, edit).key
        for file, text in texts.items()
        for name, edits in python_functions(text)
        for edit in edits
    }
    named = json.loads((ROOT / "tests/equivalent_mutants.json").read_text("utf-8"))
    keys = {tuple(one[part] for part in Mutant.KEY) for one in named if one["file"].endswith(".py")}
    assert keys
    assert keys <= there
