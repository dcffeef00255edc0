// Prints the files of standard input that jose verifies: each was signed by an office,
// whose own file is in the header, and the keys are those of the vendor.
import { stdin } from "node:process";
import { json } from "node:stream/consumers";
import { createLocalJWKSet, jwtVerify } from "jose";

const job = await json(stdin);
const vendor = createLocalJWKSet(job.Keys);
const accepted = [];
for (const f of job.Files) {
  const options = { typ: "license-file+jwt", audience: "atlas", currentDate: new Date(f.Now * 1000), clockTolerance: 300 };
  try {
    await jwtVerify(f.Text, async (header, token) => {
      const { payload } = await jwtVerify(header.office, vendor, options);
      return createLocalJWKSet({ keys: [payload.office.jwk] })(header, token);
    }, options);
    accepted.push(f.Name);
  } catch {}
}
console.log(JSON.stringify(accepted));
