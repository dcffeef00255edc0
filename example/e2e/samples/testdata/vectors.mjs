// Prints the vectors of standard input that the sample accepts, and their claims.
import { stdin } from "node:process";
import { json } from "node:stream/consumers";
import { checkFile } from "./license.mjs";

const vectors = await json(stdin);
const accepted = {};
for (const f of vectors.files) {
  try {
    accepted[f.name] = checkFile(vectors.keys, f.text, f.fingerprint, f.now);
  } catch {}
}
console.log(JSON.stringify(accepted));
