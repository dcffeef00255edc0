/*
Package webhook sends the events of the feed to webhooks, as Standard Webhooks:
endpoints, their secrets, and the deliveries to them. Handler.Webhooks returns
its [Service]:

	hook, secret, err := h.Webhooks().Create(ctx, api.CreateWebhookParams{
		URL:   "https://shop.example/hooks/licenses",
		Types: []string{"license.*"},
	})

The secret is returned only here. The receiver verifies the headers webhook-id,
webhook-timestamp and webhook-signature with it. [Service.RotateSecret] replaces
it, with an overlap during which deliveries carry both signatures.

# Deliveries

The event feed is the only source. Each webhook has a stored position in it, its
cursor, which decreases only if the feed has lost events, as after a restored backup:
every event up to there has a stored delivery, or the webhook does not select it. Handler.Run sends in one process at a time: the one
that holds a lease of 30 seconds.

One loop in that process decides what is sent. New events, a worker that is done
and [Service.Resend] wake it; otherwise it looks every ten seconds. It starts a
worker for each webhook that has due deliveries or new events. A worker sends one
batch: up to 64 deliveries with four concurrent requests, and after two seconds it
starts no more. The deliveries and the position are then stored in one Update,
together with those of other webhooks whose batches end within 20 milliseconds. The
Update fails if another process has taken the lease. If the process is killed
before, the batch is sent again, with the same webhook-id and the same delivery ID.

A failed delivery is tried ten times over three days. After five failures in a row
a breaker pauses the webhook, and its position waits. [Service.Test] and
[Service.Resend] store a delivery that is due. [Service.Deliveries] is the history.

# Addresses

A webhook must have a public https address unless Options.AllowPrivate is set.
The resolved address is checked when it is dialed, on every attempt.

# Callers

[Service.In] returns a Service that acts as a license.Service does: for the API
client or operator that was set with As, and in the same store update inside
Atomically. Errors are those of package api, such as api.ErrNotFound
and *api.InvalidError, or wrapped store errors.
*/
package webhook
