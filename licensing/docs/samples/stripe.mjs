// A webhook of Stripe that reports checkouts and subscriptions to the service, for shops whose
// server is not Go. For Node.js 20 or later, without packages. Disputes, carts with a
// subscription and what events have missed are in package payment, for Go, not here.
//
//   LICENSE_SERVER=https://example.com/licensing LICENSE_CLIENT=cid_… LICENSE_SECRET=csk_… \
//   STRIPE_KEY=rk_… STRIPE_SECRET=whsec_… node stripe.mjs PORT
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { argv, env } from "node:process";

const stripe = env.STRIPE_SERVER ?? "https://api.stripe.com";
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

const read = (path) => json(stripe + path, { headers: { Authorization: `Bearer ${env.STRIPE_KEY}`, "Stripe-Version": "2026-03-25.dahlia" } });

// record reports a purchase: the report with the latest at wins, so it may be repeated.
async function record(reference, purchase) {
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id: env.LICENSE_CLIENT, client_secret: env.LICENSE_SECRET });
  const { access_token } = await json(env.LICENSE_SERVER + "/oauth/token", { method: "POST", body: form });
  const headers = { Authorization: `Bearer ${access_token}`, "Content-Type": "application/json" };
  await json(`${env.LICENSE_SERVER}/purchase/${reference}`, { method: "PUT", headers, body: JSON.stringify(purchase) });
}

// handle reads what an event is about: the event itself may be old.
async function handle({ type, data: { object } }) {
  const at = new Date().toISOString(); // before the read
  if (type.startsWith("customer.subscription.")) {
    const s = await read(`/v1/subscriptions/${object.id}?expand[]=customer`);
    if (!(s.status in states)) throw new Error(`unknown status ${s.status}`);
    for (const item of states[s.status] ? s.items.data : [])
      await record(`stripe:${item.id}`, {
        at, state: states[s.status], until: new Date(item.current_period_end * 1000).toISOString(), plan_id: item.price.id, quantity: item.quantity || 1,
        customer_id: s.customer.id, name: s.customer.name || s.customer.email, metadata: { email: s.customer.email }, renews: !s.cancel_at_period_end && !s.cancel_at,
      });
  } else if (type.startsWith("checkout.session.")) {
    const s = await read(`/v1/checkout/sessions/${object.id}?expand[]=line_items`);
    if (s.status !== "complete" || s.payment_status === "unpaid" || s.subscription) return;
    const by = s.customer_details;
    for (const item of s.line_items.data)
      await record(`stripe:${s.id}:${item.id}`, {
        at, state: "active", plan_id: item.price.id, quantity: item.quantity, customer_id: s.customer ?? `mail:${by.email.toLowerCase()}`,
        name: by.name || by.email, metadata: { email: by.email },
      });
  }
}

// isSigned checks the header Stripe-Signature, which has a time.
function isSigned(header, body) {
  const parts = (header ?? "").split(",").map((part) => part.split("="));
  const at = parts.find(([name]) => name === "t")?.[1] ?? "0";
  const want = createHmac("sha256", env.STRIPE_SECRET).update(`${at}.${body}`).digest();
  const equal = (hex) => hex.length === 64 && timingSafeEqual(Buffer.from(hex, "hex"), want);
  return Math.abs(Date.now() / 1000 - at) < 300 && parts.some(([name, value]) => name === "v1" && equal(value));
}

createServer(async (req, res) => {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  if (!isSigned(req.headers["stripe-signature"], body)) return res.writeHead(400).end("wrong signature");
  await handle(JSON.parse(body)).then(() => res.end(), (e) => {
    console.error(e.message);
    res.writeHead(500).end("try again"); // Stripe repeats the event
  });
}).listen(Number(argv[2]), "127.0.0.1", function () { console.log("listening on", this.address().port); });
