"""That a person looked at withheld bodies joins the log with the next turn, whatever that turn is, and changes nothing else."""

from tests.core.world import World, plan, run, said


def test_a_look_is_taken_into_the_log_and_the_turn_runs_as_ever():
    of = World(plan(), lambda _: said("fine"))
    of.message("hello")
    run(of)
    of.put("reveal", {"rows": [1, 2]})
    assert run(of) is None
    row = of.rows[-1]
    assert (row.kind, row.content, row.visible, row.turn) == ("reveal", {"rows": [1, 2]}, False, 1)
    assert not of.inbox
    of.put("reveal", {"rows": [3]})
    of.message("and now?")
    run(of)
    assert [each.kind for each in of.rows if each.turn == 2] == ["message", "reply", "outcome"]
    assert [each.content for each in of.rows if each.kind == "reveal"] == [{"rows": [1, 2]}, {"rows": [3]}]
    assert not of.inbox
