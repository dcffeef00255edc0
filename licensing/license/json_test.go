package license

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/jsontext"
)

// The types of results and events consist of what package jsontext encodes
// itself: a member that it leaves to encoding/json takes several allocations.
func TestResultsEncodeWithFewAllocations(t *testing.T) {
	at, n := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC), int64(5)
	l := License{
		Object: "license", ID: "lic_1", Name: "Österreich", ProductID: "p", CustomerID: "c", Key: "k", Status: StatusActive, StatusReason: "r",
		StartsAt: &at, ExpiresAt: &at, GraceSeconds: 1, MaxActivations: &n, LeaseSeconds: &n,
		Entitlements: map[string]any{}, Metadata: map[string]string{}, Revision: 2, CreatedAt: at, UpdatedAt: at,
	}
	a := Activation{
		Object: "activation", ID: "act_1", LicenseID: "lic_1", Fingerprint: "f", Name: "n", Status: ActivationLive,
		LeaseEndsAt: &at, EndedAt: &at, Metadata: map[string]string{}, CreatedAt: at, LastSeenAt: at,
	}
	for _, v := range []any{
		&l, &a, []License{l, l}, &EventData{License: &l, Activation: &a, NoticeSeconds: &n, Reason: "r", Erased: true},
		&Verdict{Valid: true, Code: VerdictInGrace, Reasons: []Reason{{VerdictExpired, "d"}}, License: &l, Activation: &a, NextChangeAt: &at, RecheckAfter: 1},
	} {
		is := is.New(t)
		want, err := json.Marshal(v)
		is.NoErr(err)
		got, err := jsontext.Marshal(v, true)
		is.NoErr(err)
		is.Equal(string(got), string(want))
		allocations := testing.AllocsPerRun(100, func() { _, _ = jsontext.Marshal(v, true) })
		is.True(allocations < 3) // the text, and sometimes a buffer
	}
}
