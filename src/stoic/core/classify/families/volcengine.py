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
        if re.match(r"(?:Account|Model|Endpoint)?\w*RateLimitExceeded", value):
            return Finding(mark=RATE_LIMIT, field=field, value=value)
    return None


FAMILY = Family(
    codes=codes(
        quota="accountoverdueerror quotaexceeded",
        quota_config="setlimitexceeded inferenceservicepaused",
        model_not_found="invalidendpointormodel.notfound invalidendpointormodel modelnotopen invalidendpoint.closedendpoint",
        permission="accessdenied operationdenied.servicenotopen",
        overloaded="serveroverloaded modelloadingerror",
        timeout="inferenceserviceconnectiontimeout",
        soft_server_error="internalserviceerror inferenceserviceerror",
        auth="authenticationerror invalidapikey",
    ),
    words=(
        Words(
            pattern=r"max(?:imum)? (?:context|message) (?:length|tokens)|exceeds? .{0,40}context", mark=CONTEXT_LENGTH
        ),
        Words(pattern=r"tools?.{0,40}(?:schema|parameters)", mark=BAD_SCHEMA, statuses=(400,)),
    ),
    read=_reads_dotted,
)
