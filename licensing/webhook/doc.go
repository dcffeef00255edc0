/*
Package webhook sends the events of the feed to webhooks, as Standard Webhooks:
endpoints, their secrets, and the deliveries to them. Handler.Webhooks returns
its [Service]:

	hook, secret, err := h.Webhooks().Create(ctx, webhook.CreateParams{
		URL:   "https://shop.example/hooks/licenses",
		Types: []string{"license.*"},
	})

The secret is returned only here. The receiver verifies the headers webhook-id,
webhook-timestamp and webhook-signature with it. [Service.RotateSecret] replaces
it, with an overlap during which deliveries carry both signatures.

# Deliveries

The event feed is the only source. Handler.Run reads it after a stored cursor
and, in one Update, writes a delivery for each webhook that selects an event,
and the new cursor. So each event gets exactly one delivery per webhook, however
many processes run. A process claims a delivery before it sends it: it moves
the time at which the delivery is due 30 seconds into the future, so that no
other process sees it as due, and renews the claim while it sends. If a process
is killed, another continues its deliveries when the claim ends. In that case a
receiver may get a request with the same webhook-id twice.

Each webhook has its own lane, with a few concurrent requests and a breaker that
pauses it while nothing succeeds. A dead, slow or endless receiver does not
delay other webhooks. A failed delivery is tried ten times over three days.
[Service.Deliveries] is the history; [Service.Resend] sends an event again.

# Addresses

A webhook must have a public https address unless Options.AllowPrivate is set.
The resolved address is checked when it is dialed, on every attempt.

# Callers

[Service.As] returns a Service that acts for an API client or operator, as in
package license. [Service.In] joins calls with those of a license.Service inside
Atomically. Errors are those of package license, such as license.ErrNotFound and
*license.InvalidError, or wrapped store errors.
*/
package webhook
