// A program with a license, for systems that cannot load the library (musl, serverless): it
// activates with its key, keeps a license file, and starts from the file without a network. For
// Node.js 20 or later, without packages.
//
//   LICENSE_SERVER=https://example.com/licensing LICENSE_KEY=… node license.mjs keys.json license.jws MACHINE
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { argv, env } from "node:process";
import { pathToFileURL } from "node:url";

const product = "atlas";
const leeway = 300; // seconds that the clock of this machine may be behind

const decode = (part) => JSON.parse(Buffer.from(part, "base64url").toString("utf8"));

// verified returns the claims of a license file that one of the keys has signed, and
// throws otherwise.
function verified(keys, text) {
  const parts = text.split(".");
  if (parts.length !== 3) throw new Error("not a license file");
  const head = decode(parts[0]);
  const jwk = keys.find((k) => k.kid === head.kid);
  if (!jwk) throw new Error("signed with an unknown key");
  if (head.typ !== "license-file+jwt" || head.alg !== jwk.alg) throw new Error("not a license file of this key");
  if ("crit" in head || "zip" in head || "b64" in head) throw new Error("an unknown extension");
  const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" };
  const signed = Buffer.from(`${parts[0]}.${parts[1]}`);
  if (!verify(jwk.alg === "ES256" ? "sha256" : null, signed, key, Buffer.from(parts[2], "base64url")))
    throw new Error("the signature is wrong");
  return decode(parts[1]);
}

// lent returns the claims of a license file that an office signed, whose own file is in
// the header. That one has the terms; the file says for which machine and how long.
function lent(keys, officeFile, text) {
  const { office, ...terms } = verified(keys, officeFile);
  if (!office) throw new Error("the file in the header is not that of an office");
  const file = verified([office.jwk], text);
  if (file.sub !== terms.sub || file.aud !== terms.aud || !(file.exp <= terms.exp) ||
    !file.activation_id || !file.fingerprint_hash || "office" in file) throw new Error("not what the office may lend");
  for (const name of ["jti", "exp", "activation_id", "fingerprint_hash", "recheck", "nonce"]) {
    delete terms[name];
    if (name in file) terms[name] = file[name];
  }
  for (const name of ["iat", "nbf"]) terms[name] = Math.max(file[name], terms[name]);
  return terms;
}

// checkFile returns the claims of a license file that is valid on this machine at
// now (seconds), and throws otherwise. jwks is the answer of GET /file/keys, embedded.
export function checkFile(jwks, text, machine, now = Date.now() / 1000) {
  text = text.trim();
  const head = decode(text.split(".")[0]);
  const byOffice = "office" in head && !jwks.keys.some((k) => k.kid === head.kid);
  const claims = byOffice ? lent(jwks.keys, head.office, text) : verified(jwks.keys, text);
  if ("office" in claims) throw new Error("for an office, which lends the license to programs");
  if (claims.aud !== product || !claims.sub) throw new Error("for another product");
  if (![claims.iat, claims.nbf, claims.exp].every(Number.isSafeInteger)) throw new Error("without times");
  if (now + leeway < Math.max(claims.iat, claims.nbf)) throw new Error("not valid yet; is the clock right?");
  if (now >= claims.exp) throw new Error("the license file has expired");
  if (claims.fingerprint_hash !== undefined) {
    const hash = createHash("sha256").update(`licensekit-fp\0${claims.sub}\0${machine}`).digest("base64url");
    // The folder of the file was copied from that machine.
    if (hash !== claims.fingerprint_hash) throw new Error("The license was activated on another machine; enter the license key again to use it here.");
  }
  return claims;
}

// readStored returns the text of a stored license file without what mail programs and
// editors add: line breaks, the = of quoted-printable, a byte order mark, invisible
// characters.
async function readStored(path) {
  const text = (await readFile(path, "utf8")).replace(/[^A-Za-z0-9_.-]/g, "");
  if (!/^[^.]+\.[^.]+\.[^.]{86}$/.test(text)) throw new Error("not a whole license file; copy it again");
  return text;
}

// refusal returns the sentence for the user about a problem document of the service.
function refusal(problem) {
  const { code, reasons, license } = problem.verdict ?? problem;
  const because = license?.status_reason ? `: ${license.status_reason}` : ".";
  if (code === "not_found") return "No license has this license key; check it for typos.";
  if (code === "suspended") return `The license is suspended${because}`;
  if (code === "revoked") return `The license was revoked${because}`;
  return reasons?.[0].detail ?? problem.detail;
}

// activate returns a new license file for this machine.
async function activate(server, key, machine) {
  const res = await fetch(`${server}/license/activate`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key, fingerprint: machine, product_id: product, file: "P14D" }),
    signal: AbortSignal.timeout(10_000),
  });
  const answer = await res.json();
  if (res.ok && answer.file) return answer.file;
  const refused = new Error(answer.file_reason?.detail ?? refusal(answer) ?? `status ${res.status}`);
  refused.final = res.status < 500 && res.status !== 429; // the service has decided
  throw refused;
}

// openLicense uses the stored file, and gets a new one when it is time to. Without a
// network, or a service that works, the stored file is enough.
export async function openLicense(jwks, path, machine, server, key) {
  let stored, why;
  try {
    stored = checkFile(jwks, await readStored(path), machine);
    if (Date.now() / 1000 < stored.iat + (stored.recheck ?? 3600)) return stored;
  } catch (e) {
    if (e.code !== "ENOENT") why = e; // it does not count: get one, or say why
  }
  try {
    const text = await activate(server, key, machine);
    const claims = checkFile(jwks, text, machine); // before it replaces the stored one
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await rename(`${path}.new`, path);
    return claims;
  } catch (e) {
    if (stored && !e.final) return stored;
    if (why && !e.final) throw new Error(`${why.message} (${e.cause?.message ?? e.message})`, { cause: e });
    throw e;
  }
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  const [keys, path, machine] = argv.slice(2);
  try {
    const jwks = JSON.parse(await readFile(keys, "utf8")); // a real program embeds it
    const claims = await openLicense(jwks, path, machine, env.LICENSE_SERVER, env.LICENSE_KEY);
    console.log(`licensed to ${claims.name}: ${JSON.stringify(claims.entitlements ?? {})}`);
  } catch (e) {
    console.error(`no license: ${e.message}`);
    process.exitCode = 1;
  }
}
