/*
Package license is the rules of licensing: what a license is, what may become
of it, and who may sit on it. It knows no HTTP and no SQL; the JSON API and the
dashboard are thin callers of the same [Service] that Go code uses:

	s := license.New(memory.New(), license.Options{})
	l, err := s.Create(ctx, license.CreateParams{Name: "Atlas for Ada", ProductID: "atlas", CustomerID: "ada"})

In a host that mounts the handler, the Service comes from its Service method,
and its calls have the same checks and the same events as those over HTTP.

# Licenses

A license ties a product to a customer, and is good from StartsAt until
ExpiresAt, if they are set. Its [Status] is derived from the stored state and
the clock on every read; nothing needs to run for a license to expire. The
stored state changes by the moves: [Service.Suspend], [Service.Reinstate] and
[Service.Revoke], which is final. [Service.Renew] moves the end by calendar
time, [Service.Rekey] replaces a key that has leaked, and [Service.Update] sets
fields. [Service.Delete] removes the record; its events stay.

# Keys and verdicts

The key is what the licensed program has. [Service.Validate] answers whether
its license is valid, with every reason if it is not, when that changes by
itself, and when to ask again. [Service.Explain] gives the same [Verdict] to
operators, for any instant, and writes nothing. [Service.ValidateCustomer]
gives it to a host about a customer whom it knows, without a key.

# Seats

[Service.Activate] takes one of the MaxActivations seats for a fingerprint.
Whatever comes at once, on any store that keeps its rules, the limit is exact.
With LeaseSeconds a seat frees itself unless it is validated in time; an ended
lease never counts, whether or not anything has removed it. A full license
refuses, or lets the newcomer take over the oldest or a named seat, and tells
the evicted side at its next validation.

# Events

Every change appends an event, and [Service.Events] reads the feed of them, in
an order that no reader misses anything of. [Service.CreateWebhook] makes an
endpoint that they are sent to, [Service.Deliveries] tells how that went, and
[Service.GiveNotices] appends what only the clock brings: that a license is
expiring, and that it has expired. Sending, and calling the latter in time, is
the affair of Handler.Run in package licensing.

# Errors

Errors are told apart with [errors.Is] and the Err variables, and carry more
under [errors.As]: an [*InvalidError] names each field, in the words and under
the names of the wire. Errors of the store come through.

# Atomicity

A change, the event that tells of it and the tallies that count it are written
in one Update of the store. [Service.Atomically] joins several calls in one;
[Service.Once] does, and keeps the reply, so that a caller who repeats a
request after a lost answer has one effect.

# Moving in and out

[Service.Import] and [Service.Export] carry licenses as lines of JSON;
[Service.Erase] forgets a customer. For a whole store there are store.Export
and store.Import.
*/
package license
