"""Records are values: what a generator, the shell and the store hand each other can be changed by none of them (STYLE, rule 1)."""

import importlib
import pkgutil
from collections.abc import Iterator

import stoic.core
from stoic.records import Record


def below(kind: type[Record]) -> Iterator[type[Record]]:
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


def test_every_record_of_the_core_is_frozen():
    for module in pkgutil.walk_packages(stoic.core.__path__, "stoic.core."):
        importlib.import_module(module.name)
    records = [each for each in below(Record) if each.__module__.startswith(("stoic.core", "stoic.records"))]
    assert len(records) > 50
    assert [each.__qualname__ for each in records if not each.__struct_config__.frozen] == []
