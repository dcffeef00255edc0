// Prints the names of the vectors of standard input that the sample accepts.
import { readFileSync } from "node:fs";
import { checkFile } from "./license.mjs";

const vectors = JSON.parse(readFileSync(0, "utf8"));
const accepted = [];
for (const f of vectors.files) {
  try {
    checkFile(vectors.keys, f.text, f.fingerprint, f.now);
    accepted.push(f.name);
  } catch {}
}
console.log(JSON.stringify(accepted));
