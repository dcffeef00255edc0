// simple-oauth2, with its default paths, in both of its places for the
// credentials and both of its forms for the body.
import { ClientCredentials } from "simple-oauth2";

const { BASE, CLIENT_ID, CLIENT_SECRET, WRONG } = process.env;
const { origin, pathname } = new URL(BASE);
const seen = [];
for (const authorizationMethod of ["header", "body"]) {
  for (const bodyFormat of ["form", "json"]) {
    const config = (secret) => ({
      client: { id: CLIENT_ID, secret },
      auth: { tokenHost: origin, tokenPath: pathname + "/oauth/token", revokePath: pathname + "/oauth/revoke" },
      options: { authorizationMethod, bodyFormat },
      http: { json: "strict" },
    });
    const token = await new ClientCredentials(config(CLIENT_SECRET)).getToken({ scope: "license:read" });
    if (token.expired()) throw new Error("the new token has expired");
    const list = () => fetch(BASE + "/license", { headers: { Authorization: "Bearer " + token.token.access_token } });
    const before = (await list()).status;
    await token.revoke("access_token");
    let refusal = "";
    try {
      await new ClientCredentials(config(WRONG)).getToken({});
    } catch (error) {
      refusal = error.data?.payload?.error;
    }
    seen.push({ scope: token.token.scope, type: token.token.token_type, before, after: (await list()).status, refusal });
  }
}
console.log(JSON.stringify(seen));
