"""The gateways one-api and new-api: https://github.com/QuantumNous/new-api/blob/main/types/error.go."""

from stoic.core.classify.rules import (
    AUTH,
    MODEL_NOT_FOUND,
    OVERLOADED,
    QUOTA,
    Family,
    Words,
    codes,
    refused,
)

FAMILY = Family(
    codes=codes(
        quota=(
            "pre_consume_token_quota_failed entitlement_required entitlement_inactive entitlement_total_limit_exceeded"
        ),
        quota_time="entitlement_daily_limit_exceeded",
        rate_limit="token_concurrency_limit_reached",
        auth="channel:invalid_key",
        model_not_found="model_price_error",
        overloaded="channel:no_available_key get_channel_failed",
        server_error="do_request_failed bad_response bad_response_body read_response_body_failed aws_invoke_error",
        timeout="channel:response_time_exceeded",
        refused_sensitive="sensitive_words_detected",
        refused_filter="prompt_blocked",
    ),
    words=(
        Words(pattern=r"负载已饱和|负载已满", mark=OVERLOADED),
        Words(
            pattern=r"额度不足|额度已用尽|预扣费额度失败|pre-consumed quota failed|余额不足|quota is not enough",
            mark=QUOTA,
        ),
        Words(pattern=r"无效的令牌|令牌已过期|令牌状态不可用|未提供令牌|Invalid token", mark=AUTH),
        Words(pattern=r"无可用渠道|No available channel|无权(?:访问|使用)模型", mark=MODEL_NOT_FOUND),
        Words(pattern=r"sensitive words detected", mark=refused("sensitive")),
    ),
)
