// Checks the cases of standard input with the code that the guide links.
import { readFileSync } from "node:fs";
import { checkFile } from "./jose.mjs";

const job = JSON.parse(readFileSync(0, "utf8"));
const results = [];
for (const c of job.Cases) {
  try {
    results.push({ Entitlements: await checkFile(job.Keys, c.Text, c.Machine) });
  } catch (e) {
    results.push({ Error: e.message });
  }
}
console.log(JSON.stringify(results));
