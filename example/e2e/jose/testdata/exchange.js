// Reads a job from standard input, verifies its license files with the key set
// as a program would embed it, and signs its claims with its private key.
import { readFileSync } from "node:fs";
import { createLocalJWKSet, calculateJwkThumbprint, importJWK, jwtVerify, SignJWT } from "jose";

const job = JSON.parse(readFileSync(0, "utf8"));
const keys = createLocalJWKSet(job.Keys);
const options = { typ: "license-file+jwt", audience: "atlas", currentDate: new Date(job.Now) };
const { payload, protectedHeader } = await jwtVerify(job.File, keys, options);

const refused = async (text, more) => {
  try {
    await jwtVerify(text, keys, { ...options, ...more });
    return "";
  } catch (e) {
    return e.code;
  }
};
const kid = await calculateJwkThumbprint(job.Private);
const signed = await new SignJWT(job.Claims)
  .setProtectedHeader({ alg: job.Algorithm, typ: "license-file+jwt", kid })
  .sign(await importJWK(job.Private, job.Algorithm));

console.log(JSON.stringify({
  Payload: payload,
  KeyID: protectedHeader.kid,
  Altered: await refused(job.Altered),
  Foreign: await refused(job.File, { audience: "other" }),
  List: await refused(job.List),
  ListWithoutType: await refused(job.List, { typ: undefined }),
  Signed: signed,
}));
