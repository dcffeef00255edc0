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

The event feed is the only source. Handler.Run sends events in one process at a
time: the one that holds a lease of 30 seconds. Webhooks that are up to
date share one position in the feed, and the process reads each event once for all
of them. A webhook that is slow or fails leaves this shared lane: it gets a
position of its own, and returns to the lane when it has caught up. A receiver
that is down, is slow or sends an endless response does not delay other webhooks.

A position moves in the Update that stores the outcome of the requests, so no
event is skipped, even if the process is killed. Requests that were in progress
are then sent again, with the same webhook-id and the same delivery ID.

Each webhook gets at most four concurrent requests. A failed delivery enters a
queue and is tried ten times over three days. After five failures in a row a
breaker pauses the webhook, and its position waits. [Service.Test] and
[Service.Resend] put a delivery into the queue directly. [Service.Deliveries] is
the history.

# Addresses

A webhook must have a public https address unless Options.AllowPrivate is set.
The resolved address is checked when it is dialed, on every attempt.

# Callers

[Service.In] returns a Service that acts as a license.Service does: for the API
client or operator of its As, and in the Update of its Atomically. Errors are those of package license, such as license.ErrNotFound and
*license.InvalidError, or wrapped store errors.
*/
package webhook
