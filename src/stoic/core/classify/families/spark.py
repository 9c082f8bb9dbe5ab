"""iFlytek Spark: numbered codes, https://www.xfyun.cn/doc/spark/."""

from stoic.core.classify.rules import Family, codes, refused

FAMILY = Family(
    codes={
        **codes(
            rate_limit="10006 10007 11202 11203",
            overloaded="10008 10010 10110",
            server_error="10009 10011 10012 10222",
            quota_time="11201",
            permission="10015 10016 11200",
            context_length="10907",
            invalid_request="10003 10004 10005 10163",
            refused_sensitive="10013 10019 10021",
        ),
        "10014": refused("sensitive", where="completion"),
    },
)
