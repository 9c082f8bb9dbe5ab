"""Holding back the collector is undone by the last who held it, and leaves it as it was found."""

import gc

from stoic.runtime.collecting import collection_held


def test_the_collector_is_off_until_the_last_hold_ends():
    assert gc.isenabled()
    with collection_held():
        with collection_held():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with collection_held():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
