"""Baidu's Qianfan: numbers in `error_code` (first API) and words in `error.code` (second)."""

from stoic.core.classify.rules import (
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    OVERLOADED,
    Family,
    Words,
    codes,
    refused,
)

FAMILY = Family(
    codes=codes(
        server_error="1 336000 336101",
        overloaded="2 4 336100 server_high_load",
        model_not_found="3 no_such_model",
        permission="6 336004 no_model_permission",
        auth="13 14 15 100 110 111 invalid_iam_token invalid_appid",
        quota_time="17",  # the day's allowance
        quota="19 coding_plan_quota_exceeded",
        rate_limit=(
            "18 336501 336502 rpm_rate_limit_exceeded tpm_rate_limit_exceeded preemptible_resource_unavailable "
            "coding_plan_rate_limit"
        ),
        context_length="336007 336103 prompt_tokens_too_long tokens_too_long characters_too_long",
        soft_invalid_request="336001 336002 336003 336006 invalid_messages malformed_json",
        refused_sensitive=(
            "336104 336201 content_unsafe unsafe_content system_unsafe user_setting_unsafe functions_unsafe image_url_unsafe"
        ),
    ),
    words=(
        Words(pattern=r"tokens? too long|length of .{0,40}(?:exceed|too long)|max input", mark=CONTEXT_LENGTH),
        Words(pattern=r"messages must|message.{0,60}(?:odd|role|alternat|empty)", mark=HISTORY_CORRUPT),
        Words(pattern=r"sensitive|unsafe", mark=refused("sensitive")),
        Words(pattern=r"service is busy|Try again", mark=OVERLOADED, statuses=(429, 500)),
    ),
    finishes={"content_filter": refused("sensitive", where="completion")},
)
