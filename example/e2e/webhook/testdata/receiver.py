"""Receives webhooks of licensing and keeps what a shop knows of its customers.

It is written from eventtypes.md alone, with the standard library of Python. SECRET is
the secret of the webhook. It prints its port, and answers GET with what it knows.
"""
import base64, hashlib, hmac, http.server, json, os, time
from datetime import datetime

SECRET = base64.b64decode(os.environ["SECRET"].removeprefix("whsec_"))
handled = set()  # IDs of events
licenses = {}  # by ID: (revision, time, license); of a deleted one, no license
seats = {}  # by ID of the activation: (whether it has ended, activation)
emptied = {}  # by ID of the license: (time of the last transfer,)
holds = {}  # by customer: (time, whether the customer is suspended)
erasures = []  # (time, salt, digest)
used = {}  # by license and meter: (time, used)
sales, mails, alerts = {}, {}, {}  # by ID of the event


def newest(known, name, *order, state=None):
    """Keeps a state that is newer than what is known, as order says."""
    if name not in known or known[name][:-1] < order:
        known[name] = (*order, state)


def at(event):
    return datetime.fromisoformat(event["timestamp"])


def license(event):
    l = event["data"]["license"]
    newest(licenses, l["id"], l["revision"], at(event), state=l)


def created(event):
    license(event)
    data = event["data"]
    if not data.get("imported"):
        mails[event["id"]] = (event["customer_id"], "welcome", data["license"]["name"])


def suspended(event):
    license(event)
    mails[event["id"]] = (event["customer_id"], "suspended", event["data"].get("reason", ""))


def expiring(event):
    license(event)
    days = event["data"]["notice_seconds"] // 86400
    mails[event["id"]] = (event["customer_id"], "expiring", f"{days} days")


def transferred(event):
    license(event)
    newest(emptied, event["subject"], at(event))
    change = event["data"]["changes"]["customer_id"]
    mails[event["id"]] = (change["to"], "transferred", "")


def deleted(event):
    newest(licenses, event["subject"], float("inf"), at(event))


def activation(event):
    license(event)
    a = event["data"]["activation"]
    newest(seats, a["id"], a["status"] != "live", state=a)


def threshold(event):
    usage = event["data"]["usage"]
    newest(used, event["subject"] + " " + usage["meter"], at(event), state=usage["used"])
    alerts[event["id"]] = (event["customer_id"], f"{usage['percent']} % of {usage['limit']} {usage['meter']}")


def hold(event):
    newest(holds, event["customer_id"], at(event), state=event["type"] == "customer.suspended")


def erased(event):
    data = event["data"]
    erasures.append((at(event), bytes.fromhex(data["salt"]), data["digest"]))
    for known in (licenses, mails, alerts, holds):
        for name in [n for n in known if is_erased(customer_of(known, n), at(event))]:
            del known[name]


def customer_of(known, name):
    if known is holds:
        return name
    if known is licenses:
        return (known[name][-1] or {}).get("customer_id", "")
    return known[name][0]


def is_erased(customer, when):
    """Reports whether a customer was erased then, or later."""
    return any(when <= then and hashlib.sha256(salt + customer.encode()).hexdigest() == digest for then, salt, digest in erasures)


def is_live(a):
    """Reports whether an activation has a seat: a transfer ends all of the license."""
    moved = emptied.get(a["license_id"])
    return a["status"] == "live" and not (moved and datetime.fromisoformat(a["created_at"]) <= moved[0])


HANDLERS = {
    "license.created": created,
    "license.updated": license,
    "license.suspended": suspended,
    "license.reinstated": license,
    "license.revoked": license,
    "license.renewed": license,
    "license.expiring": expiring,
    "license.expired": license,
    "license.transferred": transferred,
    "license.deleted": deleted,
    "activation.created": activation,
    "activation.released": activation,
    "usage.threshold_reached": threshold,
    "customer.suspended": hold,
    "customer.reinstated": hold,
    "customer.erased": erased,
}


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.signed(body):
            return self.answer(401, b"wrong signature")
        event = json.loads(body)
        if event["id"] not in handled:
            if event["type"] in HANDLERS and not is_erased(event.get("customer_id", ""), at(event)):
                if "granted" in event["data"]:
                    sales[event["id"]] = (event["data"]["reference"], event["data"]["granted"])
                HANDLERS[event["type"]](event)
            handled.add(event["id"])
        self.answer(204)

    def signed(self, body):
        sent = self.headers["webhook-timestamp"]
        if abs(time.time() - int(sent)) > 300:
            return False
        message = f"{self.headers['webhook-id']}.{sent}.".encode() + body
        digest = base64.b64encode(hmac.digest(SECRET, message, "sha256")).decode()
        return any(hmac.compare_digest("v1," + digest, s) for s in self.headers["webhook-signature"].split(" "))

    def do_GET(self):
        ls = [l for *_, l in licenses.values() if l]
        live = [a["license_id"] for *_, a in seats.values() if is_live(a)]
        known = {
            "licenses": sorted([l["name"], l["customer_id"], l["status"], live.count(l["id"])] for l in ls),
            "sales": sorted(sales.values()),
            "mails": sorted(mails.values()),
            "alerts": sorted(alerts.values()),
            "used": sorted(n for *_, n in used.values()),
            "suspended": sorted(c for c, (_, h) in holds.items() if h),
        }
        self.answer(200, json.dumps(known).encode())

    def answer(self, status, body=b""):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
