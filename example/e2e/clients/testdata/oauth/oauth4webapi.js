// oauth4webapi, which finds the endpoints through the metadata of RFC 8414.
import * as oauth from "oauth4webapi";

const { BASE, CLIENT_ID, CLIENT_SECRET, WRONG } = process.env;
const plain = { [oauth.allowInsecureRequests]: true };
const issuer = new URL(BASE);
const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...plain }));
const client = { client_id: CLIENT_ID };
const seen = [];
for (const authenticate of [oauth.ClientSecretBasic, oauth.ClientSecretPost]) {
  const get = async (secret) =>
    oauth.processClientCredentialsResponse(server, client,
      await oauth.clientCredentialsGrantRequest(server, client, authenticate(secret), new URLSearchParams({ scope: "license:read" }), plain));
  const token = await get(CLIENT_SECRET);
  const list = () => oauth.protectedResourceRequest(token.access_token, "GET", new URL(BASE + "/license"), undefined, undefined, plain)
    .then((r) => r.status, (error) => error.status ?? error.response?.status);
  const before = await list();
  const known = await oauth.processIntrospectionResponse(server, client, await oauth.introspectionRequest(server, client, authenticate(CLIENT_SECRET), token.access_token, plain));
  await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, authenticate(CLIENT_SECRET), token.access_token, plain));
  let refusal = "";
  try {
    await get(WRONG);
  } catch (error) {
    // After Basic the client reports the challenge, and the error is in the answer.
    const response = error.response ?? error.cause?.response;
    refusal = error.error ?? (authenticate === oauth.ClientSecretBasic ? (await response?.clone().json())?.error : "hidden");
  }
  seen.push({ scope: token.scope, type: token.token_type, active: known.active, before, after: await list(), refusal });
}
console.log(JSON.stringify(seen));
