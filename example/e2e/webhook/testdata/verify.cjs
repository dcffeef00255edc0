// verify.cjs reads messages with secrets from standard input, and reports whether
// each verification has the expected result.
const { Webhook } = require("standardwebhooks");
const checks = JSON.parse(require("fs").readFileSync(0, "utf8"));
for (const c of checks) {
  const headers = Object.fromEntries(Object.entries(c.Header).map(([name, values]) => [name.toLowerCase(), values[0]]));
  let good = true;
  try { new Webhook(c.Secret).verify(c.Body, headers); } catch (e) { good = false; }
  if (good !== c.Good) { console.error("verify says", good, "and should say", c.Good); process.exit(1); }
}
console.log(checks.length + " verified");
