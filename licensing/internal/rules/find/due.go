package find

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// DueSoon returns today and the next 30 days, in UTC: what ends then is due.
func DueSoon(now time.Time) store.TimeRange {
	today := now.UTC().Truncate(24 * time.Hour)
	return store.TimeRange{From: today, Before: today.AddDate(0, 0, 31)}
}

// EndsOf returns what a license will need a renewal for, the earliest first: its end or,
// without one, that of its updates, and those of the purchases that it outlives. It is the
// rule of license.expiring. A trial has none.
func EndsOf(l api.License) (ends []time.Time) {
	if IsTrial(l.Reference) {
		return nil
	}
	for _, c := range l.Upcoming {
		if c.EndsAt != nil {
			ends = append(ends, *c.EndsAt)
		}
	}
	switch {
	case l.ExpiresAt != nil:
		ends = append(ends, *l.ExpiresAt)
	case l.UpdatesUntil != nil:
		ends = append(ends, *l.UpdatesUntil)
	}
	slices.SortFunc(ends, time.Time.Compare)
	return slices.CompactFunc(ends, time.Time.Equal)
}

// IsTrial reports whether a reference is that of a trial.
func IsTrial(reference string) bool { return strings.HasPrefix(reference, purchases.TrialPrefix) }

// A Due is an end of [EndsOf] that an operator should look at: it is soon, the license is in
// force, and no purchase that governs the end renews by itself.
type Due struct {
	At       time.Time
	Updates  bool              // the updates end
	Purchase bool              // a purchase ends that the license outlives
	State    api.PurchaseState // of the purchase that governs the end, if it is not active; empty: it is, or there is none

	references []string // of the purchases that govern the end
}

// DuesOf returns what is due of some licenses, by ID, in the order of the ends. It reads all
// their purchases together.
func DuesOf(ctx context.Context, r store.Reader, list []record.License, now time.Time) (map[string][]Due, error) {
	all := map[string][]Due{}
	var digests []string
	for _, rec := range list {
		l, err := licenses.FromRecord(rec, now)
		if err != nil {
			return nil, err
		}
		if l.Status == api.LicenseRevoked || Lapsed(l, now) {
			continue
		}
		bases, err := licenses.BaseEnds(rec)
		if err != nil {
			return nil, err
		}
		for _, end := range EndsOf(l) {
			if !DueSoon(now).Contains(end) {
				continue
			}
			d := Due{At: end, references: []string{l.Reference}}
			if c, is := bases[licenses.BaseEndKey(l.ID, end)]; is {
				d.Purchase, d.references = true, c.Ended
			} else {
				d.Updates = l.ExpiresAt == nil
			}
			all[l.ID] = append(all[l.ID], d)
			for _, reference := range d.references {
				if reference != "" {
					digests = append(digests, call.Digest(reference))
				}
			}
		}
	}
	found := map[string]purchases.Purchase{}
	for some := range slices.Chunk(digests, store.MaxLimit) {
		part, err := entries.Of(ctx, r, purchases.PurchaseKind, some, call.ReadJSON[purchases.Purchase])
		if err != nil {
			return nil, err
		}
		maps.Copy(found, part)
	}
	for id, dues := range all {
		dues = slices.DeleteFunc(dues, func(d Due) bool {
			return d.At.After(now) && slices.ContainsFunc(d.references, func(reference string) bool {
				p := found[call.Digest(reference)]
				return p.Renews.Value && standing(p) == ""
			})
		})
		for i, d := range dues {
			dues[i].State = standing(found[call.Digest(d.references[0])])
		}
		if all[id] = dues; len(dues) == 0 {
			delete(all, id)
		}
	}
	return all, nil
}

// standing returns the state of a purchase that is not active, or "".
func standing(p purchases.Purchase) api.PurchaseState {
	switch {
	case !p.FirstRefunded.IsZero():
		return api.PurchaseRefunded
	case !p.FirstEnded.IsZero():
		return api.PurchaseEnded
	case p.State.Value == api.PurchasePaused:
		return api.PurchasePaused
	}
	return ""
}

// Lapsed reports whether the grace period of a license has ended.
func Lapsed(l api.License, now time.Time) bool {
	return l.ExpiresAt != nil && !now.Before(call.GraceEnd(l))
}
