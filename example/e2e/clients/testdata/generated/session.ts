// Uses the functions that orval generates for a session with one license. Prints what
// the service answers.
import { activateKey, createLicense, deleteLicense, issueToken, listEvents, listLicenses, updateLicenseByID, validateKey } from "./orval.js";

declare const process: { env: { CLIENT_ID: string; CLIENT_SECRET: string } };

// is returns the data of an answer, which must have the expected status.
function is<A extends { status: number; data: unknown }, S extends A["status"]>(answer: A, status: S) {
  if (answer.status !== status) throw new Error(`the status is ${answer.status}, not ${status}`);
  return answer.data as Extract<A, { status: S }>["data"];
}

const token = is(
  await issueToken({
    grant_type: "client_credentials",
    client_id: process.env.CLIENT_ID,
    client_secret: process.env.CLIENT_SECRET,
  }),
  200,
);
const headers = { Authorization: `Bearer ${token.access_token}` };

const license = is(
  await createLicense(
    { name: "orval", product_id: "atlas", customer_id: "orval", max_activations: 1, entitlements: { export: true } },
    { headers },
  ),
  201,
);
const list = is(await listLicenses({ customer_id: "orval" }, { headers }), 200);
const verdict = is(await activateKey({ key: license.key, fingerprint: "host-1" }), 200);
const conflict = is(await activateKey({ key: license.key, fingerprint: "host-2" }), 409);
const stale = is(
  await updateLicenseByID(license.id, { name: "renamed" }, { headers: { ...headers, "If-Match": '"0.active"' } }),
  412,
);
const other = is(await validateKey({ key: license.key, fingerprint: "host-2" }), 200);
const events = is(await listEvents({ type: ["license.*", "activation.created"], subject: license.id }, { headers }), 200);
const deleted = is(await deleteLicense(license.id, { headers }), 200);
console.log(
  JSON.stringify({
    listed: list.data.map((l) => l.name),
    activated: verdict.activation?.fingerprint,
    conflict: conflict.code,
    refused: conflict.verdict?.code,
    stale: stale.code,
    verdict: other.code,
    licensed: other.license?.customer_id,
    events: events.data.map((e) => e.type),
    data: events.data[0]?.data.license?.entitlements,
    deleted: deleted.deleted && deleted.id === license.id,
  }),
);
