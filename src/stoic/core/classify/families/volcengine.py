"""ByteDance's Volcengine Ark (Doubao): dotted codes, https://www.volcengine.com/docs/82379/1299023."""

import re

from stoic.core.classify.rules import (
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    RATE_LIMIT,
    ErrorObject,
    Family,
    Finding,
    Words,
    codes,
    refused,
)

_CATEGORIES = {"Violence": "violence", "Sexual": "sexual", "Hate": "hate", "SelfHarm": "self_harm"}
"""The second part of a moderation code, where it names what was found."""


def _reads_dotted(error: ErrorObject) -> Finding | None:
    """Read a code's first part: `InputTextSensitiveContentDetected.PolicyViolation`, `RateLimitExceeded.EndpointRPM`."""
    for field, value in error.codes:
        sensitive = re.match(
            r"(Input|Output)?(?:Text|Image|Video|Audio)?(?:SensitiveContentDetected|RiskDetection)", value
        )
        if sensitive:
            where = "completion" if sensitive[1] == "Output" else "prompt"
            category = _CATEGORIES.get(value.rpartition(".")[2], "sensitive")
            return Finding(mark=refused(category, where=where), field=field, value=value)
        if "RateLimitExceeded" in value:
            return Finding(mark=RATE_LIMIT, field=field, value=value)
    return None


FAMILY = Family(
    codes=codes(
        quota="operationdenied.serviceoverdue invalidsubscription",
        quota_time="accountquotaexceeded",
        quota_config="setlimitexceeded inferenceservicepaused",
        model_not_found="invalidendpointormodel.notfound invalidendpointormodel invalidendpoint.closedendpoint",
        permission="operationdenied.servicenotopen",
        overloaded="modelloadingerror",
        image_too_large="oversizeimage invalidparameter.oversizedimage",
        timeout="inferenceserviceconnectiontimeout",
        soft_server_error="internalserviceerror inferenceserviceerror contentsecuritydetectionerror",
    ),
    words=(
        Words(
            pattern=r"max(?:imum)? (?:context|message) (?:length|tokens)|exceeds? .{0,40}context|input length \d+ exceeds the maximum length",
            mark=CONTEXT_LENGTH,
        ),
        Words(pattern=r"tool.{0,40}(?:schema|parameters)", mark=BAD_SCHEMA, statuses=(400,)),
    ),
    read=_reads_dotted,
)
