// Reports the same usage twice, as it has happened, and prints the statuses.
import { env } from "node:process";
import { count } from "./usage.mjs";

for (let i = 0; i < 2; i++) {
  const { status } = await count(env.LICENSE_SERVER, env.LICENSE_KEY, "exports", "process 1, today", 5, new Date(env.AT));
  console.log(status);
}
