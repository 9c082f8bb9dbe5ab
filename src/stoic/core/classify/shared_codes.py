"""Codes, types and statuses of the common API shapes; they hold for every provider that does not say otherwise.

Sources: the error references of OpenAI, Anthropic, Google Cloud (google.rpc), Amazon Bedrock Runtime and the type
definitions of their Python SDKs (openai 3.57, anthropic 2.14).
"""

from stoic.core.classify.rules import (
    AUTH,
    CANCELLED,
    CONTEXT_LENGTH,
    INVALID_CONFIG,
    INVALID_REQUEST,
    MODEL_NOT_FOUND,
    OVERLOADED,
    PERMISSION,
    QUOTA,
    RATE_LIMIT,
    SERVER_ERROR,
    TIMEOUT,
    Mark,
    codes,
)

CODES: dict[str, Mark] = codes(
    auth=(
        "invalid_api_key incorrect_api_key incorrect_api_key_error wrong_api_key missing_api_key no_api_key "
        "api_key_invalid api_key_expired expired_api_key expired_key authentication authentication_error "
        "invalid_authentication_error invalid_authentication auth_error unauthorized "
        "unauthorizederror token_expired access_token_expired access_token_type_unsupported "
        "credentials_missing unauthenticated account_deactivated invalid_token invalid_organization invalid_grant "
        "invalid_subject_token expired_token expiredtokenexception unrecognizedclientexception "
        "invalidsignatureexception incompletesignature incompletesignatureexception invalidclienttokenid "
        "missingauthenticationtoken missingauthenticationtokenexception signaturedoesnotmatch requestexpired "
        "token_not_found_in_db"
    ),
    permission=(
        "unsupported_country_region_territory unsupported_region region_not_supported request_forbidden "
        "ip_not_authorized not_authorized_ip model_terms_required insufficient_permissions "
        "service_disabled consumer_suspended consumer_invalid iam_permission_denied user_project_denied "
        "user_location_not_supported api_key_service_blocked api_key_http_referrer_blocked api_key_ip_address_blocked "
        "api_key_android_app_blocked api_key_ios_app_blocked notauthorized optinrequired ftuformnotfilled "
        "organization_restricted organization_type_not_supported parent_organization_required "
        "sandbox_egress_restricted workspace_human_review_disabled claude_code_version_too_old "
        "claude_code_key_creator_not_member cmek_key_disabled cmek_key_network_blocked data_residency_mismatch "
        "key_model_access_denied team_model_access_denied user_model_access_denied org_model_access_denied"
    ),
    soft_permission="permission_denied permission_error permissiondeniederror forbidden access_denied "
    "accessdeniedexception failed_precondition precondition_failed",
    model_not_found=(
        "model_not_found modelnotfounderror model_decommissioned model_deprecated unknown_model "
        "invalid_model model_not_available model_not_supported unsupported_model deploymentnotfound "
        "model_access_denied modelnotopen modelnotfoundexception model_not_active"
    ),
    soft_model_not_found="not_found not_found_error resource_not_found "
    "resource_not_found_error resourcenotfoundexception",
    quota=(
        "insufficient_quota billing_error billing_not_active billing_disabled credit_balance_exhausted "
        "insufficient_balance insufficient_user_quota insufficient_credits insufficient_funds payment_required credit_limit "
        "exceeded_current_quota_error exceeded_current_quota usage_limit_exceeded usage_limit_reached quota_exceeded "
        "accountoverdueerror linked_organization_billing_unavailable"
    ),
    quota_config=(
        "billing_hard_limit_reached organization_spend_limit_exceeded project_spend_limit_exceeded "
        "organization_usage_limit_exceeded budget_exceeded budgetexceedederror spend_limit_exceeded "
        "enforced_spend_limit_reached contract_spend_limit_reached linked_organization_spend_limit_reached"
    ),
    context_length=(
        "context_length_exceeded context_window_exceeded contextwindowexceedederror exceed_context_size_error "
        "model_max_prompt_tokens_exceeded prompt_too_long input_too_long request_too_large payload_too_large "
        "request_body_too_large_after_decoding tokens_limit_reached model_context_window_exceeded"
    ),
    soft_context_length="string_above_max_length",
    soft_rate_limit=(
        "rate_limit_exceeded rate_limit_error rate_limit_reached rate_limit_reached_error rate_limited "
        "too_many_requests toomanyrequestsexception slow_down throttled "
        "throttling throttlingexception throttlederror throttling_error too_many_requests_error too_many_tokens_error "
        "concurrency_limit_exceeded resource_exhausted service_quota_exceeded servicequotaexceededexception "
        "ramp_limit_exceeded requests_limit_reached"
    ),
    overloaded=(
        "overloaded overloaded_error engine_overloaded engine_overloaded_error server_is_overloaded server_overloaded "
        "model_overloaded provider_overloaded flex_unavailable capacity_exceeded no_capacity "
        "service_tier_capacity_exceeded queue_exceeded model_capacity_exhausted modelnotreadyexception model_not_ready "
        "unavailable_error"
    ),
    soft_overloaded="service_unavailable service_unavailable_error serviceunavailableexception unavailable",
    soft_server_error=(
        "server_error internal_server_error internal_error internal internalfailure "
        "internalserverexception modelerrorexception modelstreamerrorexception provider_unavailable unreachable_backend "
        "connection_failed sandbox_error conflict_error conflict aborted data_loss bad_gateway cmek_context_unavailable "
        "cmek_key_unreachable"
    ),
    timeout=(
        "timeout timeout_error request_timeout gateway_timeout deadline_exceeded modeltimeoutexception "
        "upstream_timeout vector_store_timeout"
    ),
    bad_schema="invalid_function_parameters invalid_tool_schema invalid_json_schema invalid_schema invalid_tools",
    image_too_large="image_too_large image_file_too_large",
    history_corrupt="invalid_function_call invalid_request_message_order previous_response_not_found invalid_message",
    signature_invalid="invalid_encrypted_content invalid_thinking_signature thinking_signature_invalid",
    malformed_tool_call="tool_use_failed output_parse_failed json_validate_failed",
    output_limit="max_output_tokens max_tokens_exceeded",
    cancelled="cancelled canceled client_closed_request",
    soft_invalid_request=(
        "unsupported_parameter unsupported_value invalid_value invalid_type missing_required_parameter "
        "unknown_parameter parameter_unknown invalid_parameter_error invalid_image invalid_image_format "
        "invalid_base64_image invalid_image_url image_too_small image_parse_error invalid_image_mode "
        "unsupported_image_media_type unsupported_image_format empty_image_file failed_to_download_image "
        "image_file_not_found image_not_found image_download_failed out_of_range unprocessable invalid_action "
        "request_body_encoding_invalid request_body_encoding_unsupported"
    ),
    invalid_config="unimplemented not_supported_error operationnotsupported",
    refused="censorship_blocked content_filter content_filtered responsibleaipolicyviolation refusal",
    refused_filter=(
        "content_policy_violation contentpolicyviolationerror content_policy moderation_blocked "
        "content_moderation moderation"
    ),
    refused_image="image_content_policy_violation",
    refused_guardrail="guardrail_blocked guardrail guardrail_violation",
    refused_sensitive="sensitive_content_detected",
    refused_account="organization_on_hold identifier_blocked",
)
"""By folded code."""

VAGUE: dict[str, Mark] = codes(
    invalid_request=(
        "invalid_request_error invalid_request bad_request badrequesterror invalid_argument "
        "invalidparameter validationexception unprocessableentityerror validation"
    ),
    server_error="api_error error unknown_error unknown",
)
"""Codes so wide that the status says more; asked only when there is no status."""

STATUSES: dict[int, Mark] = {
    401: AUTH,
    402: QUOTA,
    403: PERMISSION,
    404: MODEL_NOT_FOUND,
    405: INVALID_CONFIG,
    407: PERMISSION,
    408: TIMEOUT,
    409: SERVER_ERROR,  # a lock or a conflict of the provider's own; Anthropic and OpenAI document it as retryable
    413: CONTEXT_LENGTH,
    421: SERVER_ERROR,
    424: SERVER_ERROR,  # Bedrock: the model failed
    425: OVERLOADED,
    429: RATE_LIMIT,
    451: PERMISSION,
    460: CANCELLED,  # AWS load balancers: the client closed the connection
    498: OVERLOADED,  # Groq: flex tier has no capacity
    499: CANCELLED,  # the client closed the request
    501: INVALID_CONFIG,
    503: OVERLOADED,
    504: TIMEOUT,
    511: PERMISSION,  # a network wants a sign-in
    522: TIMEOUT,  # Cloudflare
    524: TIMEOUT,  # Cloudflare
    529: OVERLOADED,
    598: TIMEOUT,
    599: TIMEOUT,
}
"""By HTTP status; other 4xx are `invalid_request`, other 5xx `server_error`."""

PAGE_STATUSES: dict[int, Mark] = {503: SERVER_ERROR}
"""Statuses that mean something else on the page of a proxy or CDN than in a provider's own error."""


def by_status(status: int, *, page: bool) -> Mark | None:
    """Return what a status means, or None for one that is no error.

    Args:
        status: The HTTP status, or one named inside an error.
        page: Whether the body is a page for people, so that a proxy and not the provider wrote it.
    """
    if page and status in PAGE_STATUSES:
        return PAGE_STATUSES[status]
    if status in STATUSES:
        return STATUSES[status]
    if 400 <= status < 500:  # noqa: PLR2004 -- the client errors of HTTP
        return INVALID_REQUEST
    if 500 <= status < 600:  # noqa: PLR2004 -- the server errors of HTTP
        return SERVER_ERROR
    return None
