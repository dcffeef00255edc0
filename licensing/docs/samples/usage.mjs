// Asks the service for units of a meter of a license, and prints what is left of each
// meter, for systems that cannot load the library (musl, serverless). For Node.js 20 or later,
// without packages.
//
//   LICENSE_SERVER=https://example.com/licensing LICENSE_KEY=… node usage.mjs METER UNITS
import { randomUUID } from "node:crypto";
import { argv, env } from "node:process";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";

// post returns the status and the answer, and throws if there is none.
async function post(server, path, body) {
  const res = await fetch(server + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  if (res.status >= 500 || res.status === 429) throw new Error(`status ${res.status}`); // the service did not decide
  return { status: res.status, answer: await res.json() };
}

// use counts units, or throws: the license does not include them, or is not valid. A
// report that is repeated under its ID counts once, so an answer that was lost does no harm.
export async function use(server, key, meter, units, attempts = 3) {
  const report = { meter, id: randomUUID(), total: units };
  let reply;
  for (let attempt = 1; !reply; attempt++) {
    try {
      reply = await post(server, "/license/usage", { key, usage: [report] });
    } catch (e) {
      if (attempt === attempts) throw e;
      await setTimeout(attempt * 1000);
    }
  }
  const { status, answer } = reply;
  if (status !== 200) throw new Error(answer.verdict?.reasons[0].detail ?? answer.detail);
}

// count reports units that have been used, also above the limit: total is how many so far
// under an ID, such as a process and a day, and at is when, at most 35 days ago.
export async function count(server, key, meter, id, total, at = new Date()) {
  return post(server, "/license/usage", { key, usage: [{ meter, id, total, at: at.toISOString() }] });
}

// meters returns what was used of each meter of the license, from its verdict.
export async function meters(server, key) {
  const { answer } = await post(server, "/license/validate", { key });
  return answer.meters ?? [];
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  const { LICENSE_SERVER: server, LICENSE_KEY: key } = env;
  try {
    await use(server, key, argv[2], Number(argv[3]));
    for (const m of await meters(server, key)) {
      console.log(`${m.name}: ${m.used}${m.remaining === null ? "" : ` of ${m.limit}`} used`);
    }
  } catch (e) {
    console.error(`not counted: ${e.message}`);
    process.exitCode = 1;
  }
}
