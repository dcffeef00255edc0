// Verifies a license file with jose 6. jwks is the answer of GET /file/keys, which the
// program embeds, and machine its fingerprint. Returns the entitlements.
import { createHash } from "node:crypto";
import { createLocalJWKSet, jwtVerify } from "jose";

export async function checkFile(jwks, text, machine) {
  const { payload } = await jwtVerify(text.trim(), createLocalJWKSet(jwks), {
    typ: "license-file+jwt",
    audience: "atlas",
    requiredClaims: ["exp", "nbf", "sub"],
    clockTolerance: 300,
  });
  if ("office" in payload) throw new Error("the file is for an office");
  if (payload.fingerprint_hash) {
    const hash = createHash("sha256").update(`licensekit-fp\0${payload.sub}\0${machine}`).digest("base64url");
    if (hash !== payload.fingerprint_hash) throw new Error("the file is for another machine");
  }
  return payload.entitlements ?? {};
}
