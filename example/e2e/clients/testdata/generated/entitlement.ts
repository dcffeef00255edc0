// Creates licenses with an entitlement from a variable, using the types that
// openapi-typescript generates. Prints what the service answers to true and to false.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { env: { BASE: string; CLIENT_ID: string; CLIENT_SECRET: string } };

const { BASE, CLIENT_ID, CLIENT_SECRET } = process.env;
const api = createClient<paths>({ baseUrl: BASE });
const { data: token } = await api.POST("/oauth/token", {
  body: { grant_type: "client_credentials", client_id: CLIENT_ID, client_secret: CLIENT_SECRET },
});
if (!token) throw new Error("no token");

async function create(mayExport: boolean) {
  const body: components["schemas"]["CreateLicenseBody"] = {
    name: "Atlas",
    product_id: "atlas",
    customer_id: "bakery",
    entitlements: { export: mayExport, seats: 3, edition: "pro" },
  };
  const { data, error, response } = await api.POST("/license", {
    body,
    headers: { Authorization: `Bearer ${token!.access_token}` },
  });
  return { status: response.status, entitlements: data?.entitlements, pointer: error?.errors?.[0]?.pointer };
}

console.log(JSON.stringify([await create(true), await create(false)]));
