"""Zhipu (BigModel, Z.ai): numbered business codes, https://docs.bigmodel.cn/cn/api/api-code."""

from stoic.core.classify.fields import items, mapping
from stoic.core.classify.rules import (
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    OVERLOADED,
    RATE_LIMIT,
    SERVER_ERROR,
    ErrorObject,
    Family,
    Finding,
    Words,
    codes,
    refused,
)


def _reads_filter(error: ErrorObject) -> Finding | None:
    """Read which side a sensitive text was on: `contentFilter` names the role."""
    for holder, path in ((error.data, error.path), (error.around, error.path.removesuffix(".error"))):
        for key in ("contentFilter", "content_filter"):
            for entry in items(holder.get(key))[:1]:
                role = mapping(entry).get("role")
                where = "completion" if role == "assistant" else "prompt"
                return Finding(mark=refused("sensitive", where=where), field=f"{path}.{key}", value=str(role))
    return None


FAMILY = Family(
    codes=codes(
        auth="1000 1001 1002 1003 1004 1110 1111",
        permission="1112 1220 1311",
        quota="1113 1309",
        quota_time="1304 1308 1310",
        refused_account="1121",
        server_error="500 1120 1230 1234",
        soft_invalid_request="1200 1210 1212 1213 1214 1215",
        model_not_found="1211 1221 1222",
        context_length="1261",
        refused_sensitive="1301",
        refused="1300",
        rate_limit="1231 1302 1303 1313",
        soft_rate_limit="1305",
        overloaded="1312",
    ),
    words=(
        Words(
            pattern=r"访问量过大|temporarily overloaded|model is (?:currently )?(?:overloaded|busy)|high traffic",
            mark=OVERLOADED,
        ),
        Words(pattern=r"超长|exceeds max length|exceeds? .{0,30}context|prompt (?:is )?too long", mark=CONTEXT_LENGTH),
        Words(pattern=r"tools?\[|function.{0,20}parameters|tools? 参数", mark=BAD_SCHEMA),
        Words(pattern=r"messages? 参数非法|messages? parameter is (?:illegal|invalid)|tool_call", mark=HISTORY_CORRUPT),
        Words(pattern=r"频率|速率|rate limit", mark=RATE_LIMIT, statuses=(429,)),
    ),
    finishes={"network_error": SERVER_ERROR},
    read=_reads_filter,
    zone_hours=8,  # its reset times are Beijing's
)
