"""Tencent Hunyuan: dotted codes, https://cloud.tencent.com/document/product/1729/101848."""

from stoic.core.classify.rules import CONTEXT_LENGTH, Family, Words, codes, refused

FAMILY = Family(
    codes={
        **codes(
            rate_limit="limitexceeded requestlimitexceeded limitexceeded.requestlimitexceeded",
            overloaded="failedoperation.engineserverlimitexceeded",
            server_error="failedoperation.engineservererror",
            timeout="failedoperation.enginerequesttimeout",
            quota="failedoperation.resourcepackexhausted failedoperation.freeresourcepackexhausted "
            "failedoperation.servicestoparrears",
            permission="failedoperation.servicenotactivated failedoperation.servicestop unauthorizedoperation",
            auth="authfailure authfailure.secretidnotfound authfailure.signaturefailure authfailure.signatureexpire",
            model_not_found="invalidparametervalue.model",
        ),
        "operationdeniedtextillegaldetected": refused("sensitive", where="prompt"),
        "operationdeniedimageillegaldetected": refused("image", where="prompt"),
    },
    words=(Words(pattern=r"tokens? .{0,40}(?:exceed|too long)|length .{0,40}exceed", mark=CONTEXT_LENGTH),),
)
