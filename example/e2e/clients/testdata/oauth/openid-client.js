// openid-client, which finds the endpoints through the metadata of RFC 8414.
import * as client from "openid-client";

const { BASE, CLIENT_ID, CLIENT_SECRET, WRONG } = process.env;
const seen = [];
for (const authenticate of [client.ClientSecretPost, client.ClientSecretBasic]) {
  const discover = (secret) =>
    client.discovery(new URL(BASE), CLIENT_ID, undefined, authenticate(secret), { algorithm: "oauth2", execute: [client.allowInsecureRequests] });
  const config = await discover(CLIENT_SECRET);
  const token = await client.clientCredentialsGrant(config, { scope: "license:read" });
  const list = () => client.fetchProtectedResource(config, token.access_token, new URL(BASE + "/license"), "GET")
    .then((r) => r.status, (error) => error.status ?? error.response?.status);
  const before = await list();
  const known = await client.tokenIntrospection(config, token.access_token);
  await client.tokenRevocation(config, token.access_token);
  let refusal = "";
  try {
    await client.clientCredentialsGrant(await discover(WRONG), {});
  } catch (error) {
    // After Basic the client reports the challenge, and the error is in the answer.
    const response = error.response ?? error.cause?.response ?? error.cause;
    refusal = error.error ?? (authenticate === client.ClientSecretBasic ? (await response?.clone?.().json())?.error : "hidden");
  }
  seen.push({ scope: token.scope, type: token.token_type, active: known.active, before, after: await list(), refusal });
}
console.log(JSON.stringify(seen));
