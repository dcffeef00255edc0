# Verifies a license file with PyJWT 2.6 or later and cryptography. jwks is the answer of
# GET /file/keys, which the program embeds, and machine its fingerprint. Returns the
# entitlements.
import base64
import hashlib

import jwt


def check_file(jwks, text, machine):
    text = text.strip()
    header = jwt.get_unverified_header(text)
    if header.get("typ") != "license-file+jwt":
        raise ValueError("not a license file")
    keys = {key["kid"]: key for key in jwks["keys"]}
    key = jwt.PyJWK(keys[header["kid"]], algorithm=keys[header["kid"]]["alg"])
    claims = jwt.decode(
        text,
        key.key,
        algorithms=[keys[header["kid"]]["alg"]],
        audience="atlas",
        leeway=300,
        options={"require": ["exp", "nbf", "sub"]},
    )
    if "office" in claims:
        raise ValueError("the file is for an office")
    if "fingerprint_hash" in claims:
        data = f"licensekit-fp\0{claims['sub']}\0{machine}".encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if digest != claims["fingerprint_hash"]:
            raise ValueError("the file is for another machine")
    return claims.get("entitlements", {})
