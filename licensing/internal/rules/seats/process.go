package seats

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
)

// The files of an activation per process end with its lease, or earlier, and count by the
// clock of the service, so they hold the seat no longer than that. The process that releases
// the activation uses its file no more, so nothing is spent.

const perProcessNeeds = "activations per process need a license with lease_seconds and without offline_seconds"

var (
	errPerProcess    = api.Invalid("per_process", api.FieldImmutable, "is not allowed: "+perProcessNeeds)
	perProcessReason = api.Reason{Code: api.VerdictLeaseRequired, Detail: "A" + perProcessNeeds[1:] + "."}
)

// allowsPerProcess reports whether a license allows activations per process.
func allowsPerProcess(l record.License) bool { return l.LeaseSeconds >= 0 && l.OfflineSeconds < 0 }

// holdProcess is holdUntil for an activation per process.
func (f facts) holdProcess(end time.Time) (exp, hold time.Time) {
	if lease := licenses.LeaseOf(f.seat).Truncate(time.Second); lease.Before(end) {
		end = lease
	}
	if end.After(f.seat.HeldUntil) {
		hold = end
	}
	return end, hold
}
