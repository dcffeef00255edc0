/*
Package license implements the licensing rules: creating licenses, validating
them, activating programs, and recording every change as an event. It does not
depend on HTTP or SQL. The JSON API and the dashboard call the same [Service]
that is available to Go code:

	s := license.New(memory.New(), license.Options{})
	l, err := s.Create(ctx, api.CreateLicenseParams{Name: "Atlas for Ada", ProductID: "atlas", CustomerID: "ada"})
	if err != nil {
		return err
	}
	v, err := s.Validate(ctx, api.ValidateKeyParams{Key: l.Key})
	if err != nil {
		return err // invalid parameters, or the store failed
	}
	fmt.Println(v.Valid, v.Code) // true valid

An application that mounts the handler of package licensing gets its Service
from Handler.Service. Calls from Go pass the same checks and append the same
events as API requests.

# Licenses

A license grants a customer the use of a product, from StartsAt until ExpiresAt
if these are set. Its [api.LicenseStatus] is derived from the stored state and the clock on
every read, so a license expires on time without background work.

[Service.Update] sets fields. [Service.Suspend], [Service.Reinstate] and
[Service.Revoke] change the stored state; revocation is permanent.
[Service.Renew] extends a license by calendar time, and [Service.Rekey] replaces
a leaked key. [Service.Delete] removes the license; its events remain.

# Keys and verdicts

A licensed program has only its license key. [Service.Validate] returns an
[api.Verdict]: whether the license is valid, every reason if it is not, when the
verdict will next change, and when to validate again. An invalid license or an
unknown key is a verdict, not an error. A key is found in every form in which
people and their tools pass it on.

[Service.Explain] returns the verdict for any instant, for operators.
[Service.ValidateCustomer] returns it for a customer that the application has
already identified, without a license key.

# Activations and seats

An [api.Activation] is the use of one of a license's MaxActivations seats by one
fingerprint, for example a machine. [Service.Activate] enforces the limit
exactly, however many calls run concurrently. It limits activations: a program
whose activation was released or evicted may run until its license file expires,
unless Options.HoldOffline is set.

With LeaseSeconds, an activation ends unless it is validated in time. An ended
lease does not use a seat, whether or not its record has been removed. When no
seat is free, Activate refuses, or evicts the activation named in TakeOver; the
evicted program learns of it at its next validation.

# Events

Every change appends an [api.Event]. [Service.Events] reads the event feed in an
order in which no consumer misses an event. Package webhook sends events to
other programs. Plans, purchases and trials are in package selling.

Handler.Run of package licensing appends the notices that licenses are expiring,
have expired or have lapsed, and removes old records. Without it, everything else in this
package works.

# Errors

Test errors with [errors.Is] and the Err variables of package api. [errors.As] gives details:
an [*api.InvalidError] lists every invalid field under its API name, a
[*api.DeniedError] holds the verdict of a refused activation, and a [*api.StaleError]
holds the current version. Store errors are returned wrapped.

# Concurrency and transactions

A [Service] is safe for concurrent use and starts no goroutines. Each change
and its event are written in one Update of the store.
[Service.Atomically] combines several calls into one Update. [Service.Once] also
stores a reply, so that a caller can safely repeat a request whose response was
lost. IfMatch makes a change conditional on the version that the caller read.

# Defaults

The zero [Options] are ready to use: licenses without an expiry, limit or lease
unless set, idempotency replies kept for 24 hours, events kept forever, and
expiry notices 30, 7 and 1 days before the end.

# Import, export and erasure

[Service.Export] writes licenses as lines of JSON, and [Service.Import] reads
them. [Service.EraseCustomer] removes a customer's licenses and personal data.
To copy a whole store, including activations and events, use store.Export and
store.Import.
*/
package license
