"""The words for refusals and for what is withheld because of them, the same live and in the log."""

from stoic.cli.cleaning import one_line
from stoic.core.quarantine.ladder import STEPS
from stoic.records import Json


def quarantine_said(content: Json) -> str:
    """Return what a step withheld from the model, and whose refusal was the reason.

    Args:
        content: of a row of kind `quarantine`, or the fields of a `quarantined` event
    """
    step: int = content["step"]
    when = f"step {step} of {STEPS}" if step else "before it was sent again"
    rows = f"row{'' if len(content['rows']) == 1 else 's'} {', '.join(str(seq) for seq in content['rows'])}"
    return f"⊘ withheld from the model ({when}): {rows} · {refuser(content)}"


def refusal_said(content: Json) -> str:
    """Return whose refusal counts, and what its rule says.

    Args:
        content: of a row of kind `refusal`, or the fields of a `refused` event
    """
    what = ", not asked again" if content["skipped"] else ""
    return f"⊘ {refuser(content)}{what}: {content['rule']}"


def refuser(content: Json) -> str:
    """Return who refused, and the category if one was named."""
    category = f" (category {one_line(content['category'])})" if content.get("category") else ""
    return f"{one_line(content['provider'])}:{one_line(content['model'])} refused{category}"
