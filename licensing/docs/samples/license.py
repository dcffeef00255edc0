"""A program with a license, for systems that cannot load the library (musl, serverless): it
activates with its key, keeps a license file, and starts from the file without a network. For
Python 3.9 or later, with PyJWT 2.6 or later and cryptography (on Debian: python3-jwt and
python3-cryptography).

LICENSE_SERVER=https://example.com/licensing LICENSE_KEY=… python3 license.py keys.json license.jws MACHINE
"""

import base64
import hashlib
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request

import jwt

PRODUCT = "atlas"
LEEWAY = 300  # seconds that the clock of this machine may be behind


def verify(keys, text):
    """Returns the claims of a license file that one of the keys has signed, and raises an
    exception otherwise."""
    head = jwt.get_unverified_header(text)
    key = next((k for k in keys if k["kid"] == head.get("kid")), None)
    if key is None:
        raise ValueError("signed with an unknown key")
    if head.get("typ") != "license-file+jwt" or {"crit", "zip", "b64"} & head.keys():
        raise ValueError("not a license file")
    # The times are checked later, by one clock: PyJWT allows leeway for exp too.
    options = {"require": ["exp", "nbf", "iat", "sub"], "verify_exp": False, "verify_nbf": False, "verify_iat": False}
    public = jwt.PyJWK(key, algorithm=key["alg"]).key
    return jwt.decode(text, public, algorithms=[key["alg"]], audience=PRODUCT, options=options)


def verify_lent(keys, office_file, text):
    """Returns the claims of a license file that an office signed, whose own file is in the
    header. That one has the terms; the file says for which machine and how long."""
    office = verify(keys, office_file)
    if "office" not in office:
        raise ValueError("the file in the header is not that of an office")
    lent = verify([office["office"]["jwk"]], text)
    if (
        (lent["sub"], lent["aud"]) != (office["sub"], office["aud"])
        or lent["exp"] > office["exp"]
        or not lent.get("activation_id")
        or not lent.get("fingerprint_hash")
        or "office" in lent
    ):
        raise ValueError("not what the office may lend")
    own = {"jti", "exp", "activation_id", "fingerprint_hash", "recheck", "nonce"}
    claims = {name: value for name, value in office.items() if name not in own | {"office"}}
    claims.update({name: value for name, value in lent.items() if name in own})
    claims.update({name: max(lent[name], office[name]) for name in ("iat", "nbf")})
    return claims


class OtherMachine(ValueError):
    """The license file is for another machine, from which its folder was copied."""

    def __init__(self):
        super().__init__("The license was activated on another machine; enter the license key again to use it here.")


def check_file(jwks, text, machine, now=None):
    """Returns the claims of a license file that is valid on this machine at now, and
    raises an exception otherwise. jwks is the answer of GET /file/keys, embedded."""
    now = time.time() if now is None else now
    text, keys = text.strip(), jwks["keys"]
    head = jwt.get_unverified_header(text)
    if "office" in head and head.get("kid") not in [k["kid"] for k in keys]:
        claims = verify_lent(keys, head["office"], text)
    else:
        claims = verify(keys, text)
    if "office" in claims:
        raise ValueError("for an office, which lends the license to programs")
    if now + LEEWAY < max(claims["iat"], claims["nbf"]):
        raise ValueError("not valid yet; is the clock right?")
    if now >= claims["exp"]:
        raise ValueError("the license file has expired")
    if "fingerprint_hash" in claims:
        digest = hashlib.sha256(f"licensekit-fp\0{claims['sub']}\0{machine}".encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != claims["fingerprint_hash"]:
            raise OtherMachine()
    return claims


def read_file(path):
    """Returns the text of a stored license file without what mail programs and editors
    add: line breaks, the = of quoted-printable, a byte order mark, invisible characters."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = re.sub("[^A-Za-z0-9_.-]", "", f.read())
    if not re.fullmatch(r"[^.]+\.[^.]+\.[^.]{86}", text):
        raise ValueError("not a whole license file; copy it again")
    return text


class Refused(Exception):
    """The service has decided; a stored file does not help."""


def refusal(problem):
    """Returns the sentence for the user about a problem document of the service."""
    verdict = problem.get("verdict") or {"code": problem.get("code")}
    reason = (verdict.get("license") or {}).get("status_reason")
    if verdict["code"] == "not_found":
        return "No license has this license key; check it for typos."
    if verdict["code"] in ("suspended", "revoked"):
        sentence = "The license is suspended" if verdict["code"] == "suspended" else "The license was revoked"
        return f"{sentence}: {reason}" if reason else f"{sentence}."
    return verdict["reasons"][0]["detail"] if "reasons" in verdict else problem["detail"]


def activate(server, key, machine):
    """Returns a new license file for this machine."""
    body = {"key": key, "fingerprint": machine, "product_id": PRODUCT, "file": "P14D"}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(server + "/license/activate", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as e:
        if e.code >= 500 or e.code == 429:
            raise
        raise Refused(refusal(json.load(e))) from None
    if not answer.get("file"):
        raise Refused(answer["file_reason"]["detail"])
    return answer["file"]


def open_license(jwks, path, machine, server, key):
    """Uses the stored file, and gets a new one when it is time to. Without a network,
    or a service that works, the stored file is enough."""
    stored = why = None
    try:
        stored = check_file(jwks, read_file(path), machine)
        if time.time() < stored["iat"] + stored.get("recheck", 3600):
            return stored
    except FileNotFoundError:
        pass  # get one
    except Exception as e:
        why = e  # it does not count: get one, or say why
    try:
        text = activate(server, key, machine)
        claims = check_file(jwks, text, machine)  # before it replaces the stored one
    except Refused:
        raise
    except Exception as e:
        if stored:
            return stored
        if why:
            raise ValueError(f"{why} ({e})") from e
        raise
    with open(os.open(path + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".new", path)
    return claims


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as f:
            jwks = json.load(f)  # a real program embeds it
        claims = open_license(jwks, sys.argv[2], sys.argv[3], os.environ.get("LICENSE_SERVER"), os.environ.get("LICENSE_KEY"))
    except Exception as e:
        sys.exit(f"no license: {e}")
    print(f"licensed to {claims['name']}: {json.dumps(claims.get('entitlements', {}), separators=(',', ':'))}")
