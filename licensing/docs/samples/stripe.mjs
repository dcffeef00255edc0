// A webhook of Stripe that reports checkouts and subscriptions to the service, for shops whose
// server is not Go: Node.js 20 or later, without packages. Disputes, carts with a subscription
// and what events have missed are in package payment, for Go, not here.
//   LICENSE_SERVER=https://example.com/licensing LICENSE_CLIENT=cid_… LICENSE_SECRET=csk_… \
//   STRIPE_KEY=rk_… STRIPE_SECRET=whsec_… node stripe.mjs PORT
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { argv, env } from "node:process";
import { buffer } from "node:stream/consumers";

const states = {
  trialing: "active", active: "active", past_due: "active", unpaid: "paused", paused: "paused",
  canceled: "ended", incomplete_expired: "ended", incomplete: null, // not paid for yet
};

// json returns an answer, or throws what it says.
async function json(url, options) {
  const res = await fetch(url, { ...options, signal: AbortSignal.timeout(8_000) });
  if (!res.ok) throw new Error(`${url}: ${res.status} ${await res.text()}`);
  return res.json();
}

const stripe = { Authorization: `Bearer ${env.STRIPE_KEY}`, "Stripe-Version": "2026-03-25.dahlia" };
const read = (path) => json((env.STRIPE_SERVER ?? "https://api.stripe.com") + path, { headers: stripe });

// record reports a purchase: the report with the latest at wins, so it may be repeated.
async function record(reference, by, terms) {
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id: env.LICENSE_CLIENT, client_secret: env.LICENSE_SECRET });
  const { access_token } = await json(env.LICENSE_SERVER + "/oauth/token", { method: "POST", body: form });
  const headers = { Authorization: `Bearer ${access_token}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ ...terms, customer_id: by.id, name: by.name || by.email, metadata: { email: by.email } });
  await json(`${env.LICENSE_SERVER}/purchase/${reference}`, { method: "PUT", headers, body });
}

// handle reads what an event is about: the event itself may be old.
async function handle({ type, data: { object } }) {
  const at = new Date().toISOString(); // before the read
  if (type.startsWith("customer.subscription.")) {
    const s = await read(`/v1/subscriptions/${object.id}?expand[]=customer`);
    const state = states[s.status], renews = !s.cancel_at_period_end && !s.cancel_at;
    if (state === undefined) throw new Error(`unknown status ${s.status}`);
    for (const { id, price, quantity, current_period_end } of state ? s.items.data : [])
      await record(`stripe:${id}`, s.customer, { at, state, renews, plan_id: price.id, quantity: quantity || 1, until: new Date(current_period_end * 1000) });
  } else if (type.startsWith("checkout.session.")) {
    const s = await read(`/v1/checkout/sessions/${object.id}?expand[]=line_items`);
    if (s.status !== "complete" || s.payment_status === "unpaid" || s.subscription) return;
    const by = { id: s.customer ?? `mail:${s.customer_details.email.toLowerCase()}`, ...s.customer_details };
    for (const { id, price, quantity } of s.line_items.data)
      await record(`stripe:${s.id}:${id}`, by, { at, state: "active", plan_id: price.id, quantity });
  }
}

// isSigned checks the header Stripe-Signature, which has a time.
function isSigned(header, body) {
  const parts = (header ?? "").split(",").map((part) => part.split("="));
  const at = parts.find(([name]) => name === "t")?.[1] ?? "0";
  const want = Buffer.from(createHmac("sha256", env.STRIPE_SECRET).update(`${at}.`).update(body).digest("hex"));
  const equal = (hex = "") => hex.length === want.length && timingSafeEqual(Buffer.from(hex, "latin1"), want);
  return Math.abs(Date.now() / 1000 - at) < 300 && parts.some(([name, value]) => name === "v1" && equal(value));
}

createServer(async (req, res) => {
  try {
    const body = await buffer(req);
    if (!isSigned(req.headers["stripe-signature"], body)) return res.writeHead(400).end("wrong signature");
    await handle(JSON.parse(body));
    res.end();
  } catch (e) {
    console.error(e.message);
    res.writeHead(500).end("try again"); // Stripe repeats the event
  }
}).listen(Number(argv[2]), "127.0.0.1", function () { console.log("listening on", this.address().port); });
