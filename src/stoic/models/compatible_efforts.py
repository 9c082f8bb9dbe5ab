"""How compatible servers are told how much to reason: each has its own keys, and few know all efforts."""

import re
from collections.abc import Callable

from stoic.models.refusing import require_effort
from stoic.records import Json

Expression = Callable[[str, str, str], dict[str, Json]]
"""From provider, model and effort to the request's keys."""

_BUDGETS_TOKENS = {"minimal": 512, "low": 2_048, "medium": 8_192, "high": 24_576}
_GLM = re.compile(r"glm-(\d+)(?:\.(\d+))?", re.IGNORECASE)
_GLM_WITH_EFFORT = (5, 2)
_GROK = re.compile(r"grok-(\d+)(?:\.(\d+))?")
_FIXED_GROKS = {"grok-4", "grok-4-0709", "grok-4-latest"}
_GROK_WITH_NONE, _GROK_WITH_XHIGH, _GROK_4_20 = (4, 3), (4, 6), (4, 20)
"""4.20 is older than 4.3."""


def effort_of(provider: str, model: str, effort: str) -> dict[str, Json]:
    """Return the keys that say a reasoning effort; without rules of the server's own, OpenAI's `reasoning_effort`.

    Raises:
        UsageError: the provider or the model is known not to take it
    """
    return _BY_PROVIDER.get(provider, _plain)(provider, model, effort)


def _plain(_provider: str, _model: str, effort: str) -> dict[str, Json]:
    return {"reasoning_effort": effort}


def _openrouter(provider: str, model: str, effort: str) -> dict[str, Json]:
    # https://openrouter.ai/docs/use-cases/reasoning-tokens
    require_effort(provider, model, effort, ("none", "minimal", "low", "medium", "high", "xhigh"))
    return {"reasoning": {"effort": effort}}


def _deepseek(_provider: str, _model: str, effort: str) -> dict[str, Json]:
    # https://api-docs.deepseek.com/guides/thinking_mode; the server itself maps the efforts between its own.
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled"}, "reasoning_effort": effort}


def _glm(provider: str, model: str, effort: str) -> dict[str, Json]:
    # https://docs.z.ai/guides/capabilities/thinking-mode; before 5.2 only on and off are known.
    found = _GLM.search(model)
    if found and (int(found[1]), int(found[2] or 0)) >= _GLM_WITH_EFFORT:
        return _deepseek(provider, model, effort)
    return _switch(provider, model, effort)


def _kimi(provider: str, model: str, effort: str) -> dict[str, Json]:
    # https://platform.kimi.ai/docs/guide/use-thinking-effort; thinking cannot be turned off from K3 on, nor in K2.7 Code.
    if "kimi-k3" in model:
        require_effort(provider, model, effort, ("low", "high", "max"))
        return {"reasoning_effort": effort}
    if "kimi-k2.7" in model:
        require_effort(provider, model, effort, ("high",))
    return _switch(provider, model, effort)


def _switch(provider: str, model: str, effort: str) -> dict[str, Json]:
    require_effort(provider, model, effort, ("none", "high"))
    return {"thinking": {"type": "disabled" if effort == "none" else "enabled"}}


def _minimax(provider: str, model: str, effort: str) -> dict[str, Json]:
    # https://platform.minimax.io/docs/api-reference/text-anthropic-api; M2 models always think.
    require_effort(provider, model, effort, ("high",) if "-m2" in model.lower() else ("none", "high"))
    return {"thinking": {"type": "disabled" if effort == "none" else "adaptive"}}


def _volcengine(provider: str, model: str, effort: str) -> dict[str, Json]:
    # https://www.volcengine.com/docs/82379/1449737
    require_effort(provider, model, effort, ("none", "minimal", "low", "medium", "high"))
    return _deepseek(provider, model, effort)


def _qwen(provider: str, model: str, effort: str) -> dict[str, Json]:
    # https://help.aliyun.com/zh/model-studio/deep-thinking
    require_effort(provider, model, effort, ("none", *_BUDGETS_TOKENS))
    if effort == "none":
        return {"enable_thinking": False}
    return {"enable_thinking": True, "thinking_budget": _BUDGETS_TOKENS[effort]}


def _enable(provider: str, model: str, effort: str) -> dict[str, Json]:
    # https://cloud.tencent.com/document/product/1729/111007, https://cloud.baidu.com/doc/qianfan-api/s/3m7of64lb
    require_effort(provider, model, effort, ("none", "high"))
    return {"enable_thinking": effort != "none"}


def _groq(provider: str, model: str, effort: str) -> dict[str, Json]:
    # https://console.groq.com/docs/reasoning
    if "qwen" in model:
        require_effort(provider, model, effort, ("none", "high"))
        return {"reasoning_effort": "none" if effort == "none" else "default"}
    require_effort(provider, model, effort, ("low", "medium", "high"))
    return {"reasoning_effort": effort}


def _grok(provider: str, model: str, effort: str) -> dict[str, Json]:
    # https://docs.x.ai/docs/guides/reasoning; from 4.5 on reasoning cannot be turned off.
    require_effort(provider, model, effort, _grok_efforts(model))
    return {"reasoning_effort": effort}


def _grok_efforts(model: str) -> tuple[str, ...]:
    if model in _FIXED_GROKS or "non-reasoning" in model:
        return ()
    found = _GROK.search(model)
    version = (int(found[1]), int(found[2] or 0)) if found else _GROK_WITH_XHIGH
    if version == _GROK_WITH_NONE:
        return ("none", "low", "medium", "high")
    late = _GROK_WITH_XHIGH <= version < _GROK_4_20
    return ("low", "medium", "high", "xhigh") if late else ("low", "medium", "high")


def _two_efforts(provider: str, model: str, effort: str) -> dict[str, Json]:
    # https://docs.mistral.ai/capabilities/reasoning/, https://docs.cohere.com/docs/compatibility-api
    require_effort(provider, model, effort, ("none", "high"))
    return {"reasoning_effort": effort}


def _llamacpp(_provider: str, _model: str, effort: str) -> dict[str, Json]:
    # https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md: the chat template decides.
    if effort == "none":
        return {"chat_template_kwargs": {"enable_thinking": False}}
    return {"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": effort}}


_BY_PROVIDER: dict[str, Expression] = {
    "openrouter": _openrouter,
    "deepseek": _deepseek,
    "zhipu": _glm,
    "zai": _glm,
    "moonshot": _kimi,
    "moonshot-cn": _kimi,
    "minimax": _minimax,
    "minimax-cn": _minimax,
    "volcengine": _volcengine,
    "dashscope": _qwen,
    "dashscope-intl": _qwen,
    "siliconflow": _qwen,
    "hunyuan": _enable,
    "baidu": _enable,
    "groq": _groq,
    "xai": _grok,
    "mistral": _two_efforts,
    "cohere": _two_efforts,
    "llamacpp": _llamacpp,
}
