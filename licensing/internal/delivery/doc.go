/*
Package delivery sends events to webhooks and to the host's subscribers.
Handler.Run runs it.

The event feed is the only source. A step reads it after a stored cursor and, in
one Update, writes a delivery for each webhook that selects an event, and the
new cursor. So each event is handed on exactly once, however many processes do
it. A process claims a delivery before it sends it: it moves DueAt 30 seconds
into the future, so that no other process sees the delivery as due, and renews
the claim while it sends. If a process is killed, another continues its
deliveries when the claim ends. In that case a receiver may get a request with
the same webhook-id twice.

Each webhook has its own lane, with a few concurrent requests and a breaker that
pauses it while nothing succeeds. A dead, slow or endless receiver does not
delay other webhooks. The sender and the guard limit what a request may do and
which addresses it may reach; package license decides what the result means for
the webhook.

Subscribers process the feed one event after another, each from its own cursor,
in one process at a time.
*/
package delivery
