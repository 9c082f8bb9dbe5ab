"""Alibaba's DashScope (Model Studio, Qwen): https://help.aliyun.com/en/model-studio/error-code."""

from stoic.core.classify.families.grammar import CONTEXT, HISTORY, MAX_TOKENS
from stoic.core.classify.rules import (
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    IMAGE_TOO_LARGE,
    MODEL_NOT_FOUND,
    PERMISSION,
    QUOTA,
    QUOTA_CONFIG,
    RATE_LIMIT,
    TIMEOUT,
    Family,
    Words,
    codes,
    refused,
)

FAMILY = Family(
    codes=codes(
        # "insufficient_quota" is OpenAI's word, but here it is the token rate that was allocated.
        soft_rate_limit=(
            "throttling.ratequota throttling.burstrate throttling.allocationquota insufficient_quota "
            "limit_requests limit_burst_rate rate_limit"
        ),
        quota="arrearage prepaidbilloverdue postpaidbilloverdue",
        quota_config="allocationquota.freetieronly commoditynotpurchased",
        permission="accessdenied.unpurchased model.accessdenied app.accessdenied workspace.accessdenied ipnotallowed",
        refused_sensitive="data_inspection_failed internalerror.algo.datainspectionfailed",
        refused_copyright="ipinfringementsuspect",
        refused_guardrail="customroleblocked faqruleblocked",
        timeout="internalerror.timeout responsetimeout",
        soft_overloaded="modelservingerror modelunavailable",
        soft_server_error="internalerror.algo systemerror",
        context_length="badrequest.toolarge",
    ),
    words=(
        Words(
            pattern=r"(?:^|[:>] ?)Output .{0,20}data may contain",
            mark=refused("sensitive", where="completion"),
        ),
        Words(
            pattern=r"may contain inappropriate content|DataInspectionFailed|does not comply with green",
            mark=refused("sensitive"),
        ),
        Words(
            pattern=r"Range of input length|input length .{0,40}exceed|total message token length exceed",
            mark=CONTEXT_LENGTH,
        ),
        *MAX_TOKENS,
        *CONTEXT,
        *HISTORY,
        Words(
            pattern=r"messages with role .tool|role .{0,40}(?:order|must)|content field is a required field|elements with the role of user|function\.arguments. parameter|does not have .{0,20}tool_call",
            mark=HISTORY_CORRUPT,
        ),
        Words(pattern=r"free tier .{0,60}exhausted|free (?:allocated )?quota", mark=QUOTA_CONFIG),
        Words(pattern=r"overdue|good standing", mark=QUOTA),
        Words(
            pattern=r"tool.{0,40}(?:schema|parameters)|function\.parameters|Tool names are not allowed",
            mark=BAD_SCHEMA,
            statuses=(400,),
        ),
        Words(
            pattern=r"(?:image|media|multimodal file).{0,60}(?:too large|exceed|size)|max bytes per data-uri",
            mark=IMAGE_TOO_LARGE,
            statuses=(400, 413),
        ),
        Words(pattern=r"rate limit|allocated quota exceeded|too many requests", mark=RATE_LIMIT, statuses=(429,)),
        Words(pattern=r"timed? ?out", mark=TIMEOUT, statuses=(500, 503, 504)),
        Words(pattern=r"Model not found", mark=MODEL_NOT_FOUND),
        Words(pattern=r"Access to model denied|not authorized", mark=PERMISSION, statuses=(400,)),
    ),
)
