/*
Package delivery brings events out: to webhooks and to the subscribers of a
host. It is what Handler.Run runs.

The feed of events is the only source. One step reads it past a stored cursor
and writes, in one Update, a delivery for each webhook that wants the event and
the cursor's new place: no event is handed on twice, none is left out, and any
number of processes may do it. Sending is work under a lease: whoever claims a
delivery moves its DueAt on by 30 seconds, so that no other process sees it as
due, and renews the claim while it sends. Another process continues the work of
one that was killed when the claim ends. What may happen
twice in such a case is a request with the same webhook-id.

Each webhook has a lane of its own, with a few requests at a time and a breaker
that holds it back while nothing gets through, so that a receiver that is dead,
slow or endless delays nobody else. What one request may do, and to which
addresses, the guard and the sender decide; package license, what the outcome
means for the webhook.

Subscribers go through the feed one event after another, each from a cursor of
its own, in one process at a time.
*/
package delivery
