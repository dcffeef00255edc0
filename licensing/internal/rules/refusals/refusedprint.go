package refusals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// RefusedKind is the kind of entries with the last refusal of a fingerprint by a
// license. Key is a fingerprintKey, Owner the license ID, and Data a refusedCall. A
// license has at most recentRefusals of them, the latest ones, and only while it has
// an entry of refusalKind.
const RefusedKind = "refused"

// A RefusedFingerprint is the last refusal of a fingerprint by a license.
type RefusedFingerprint struct {
	api.RefusedCall
	Code    api.VerdictCode
	License api.License
}

// refusedExpiry returns when a refusal is older than refusalDays.
func refusedExpiry(at time.Time) time.Time { return startOf(dayOf(at) + refusalDays) }

// latest returns the last of the calls with each fingerprint that are not older
// than refusalDays, by their keys.
func latest(licenseID string, calls []refusedCall, now time.Time) map[string]refusedCall {
	last := map[string]refusedCall{}
	for _, c := range calls {
		key := find.FingerprintKey(c.Fingerprint, licenseID)
		if c.Fingerprint != "" && refusedExpiry(c.At).After(now) && !c.At.Before(last[key].At) {
			last[key] = c
		}
	}
	return last
}

// putRefused returns the entries of the fingerprints of refused calls, and deletes
// the ones that these replace.
func putRefused(ctx context.Context, tx store.Tx, licenseID string, calls []refusedCall, now time.Time) (put []store.Entry, err error) {
	last := latest(licenseID, calls, now)
	if len(last) == 0 {
		return nil, nil
	}
	entries, err := tx.Entries(ctx, store.EntryQuery{Kind: RefusedKind, Order: store.ByExpiry, Owner: licenseID})
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for _, e := range entries {
		var c refusedCall
		if err := call.Decode(e.Data, &c); err != nil {
			return nil, err
		}
		if kept[e.Key] = true; last[e.Key].At.Before(c.At) {
			last[e.Key] = c
		}
	}
	keys := slices.SortedFunc(maps.Keys(last), func(a, b string) int {
		return cmp.Or(last[b].At.Compare(last[a].At), strings.Compare(a, b))
	})
	var gone []string
	for i, key := range keys {
		if i >= recentRefusals {
			if kept[key] {
				gone = append(gone, key)
			}
			continue
		}
		c := last[key]
		put = append(put, store.Entry{Kind: RefusedKind, Key: key, Owner: licenseID, Data: record.Encode(c), ExpiresAt: refusedExpiry(c.At), CreatedAt: now})
	}
	if len(gone) > 0 {
		err = tx.DeleteEntries(ctx, RefusedKind, gone...)
	}
	return put, err
}

// DeleteRefusals deletes the refusals of a license and their fingerprints.
func DeleteRefusals(ctx context.Context, tx *call.Tx, licenseID string) error {
	if _, err := tx.Entry(ctx, RefusalKind, licenseID); errors.Is(err, store.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	if err := tx.DeleteEntries(ctx, RefusalKind, licenseID); err != nil {
		return err
	}
	return entries.Remove(ctx, tx, store.EntryQuery{Kind: RefusedKind, Order: store.ByExpiry, Owner: licenseID})
}

// FindRefused lists the last refusals of fingerprints by their beginning, in order
// of fingerprint and license ID, byte by byte, of licenses that exist for the
// caller. It returns up to the limit and reports whether there are more; it has no
// cursor. Of each license, the last 20 fingerprints of the last 90 days are kept. It
// has the limits of [Service.Refusals].
func (s Service) FindRefused(ctx context.Context, prefix string, limit int) (list []RefusedFingerprint, more bool, err error) {
	p := find.FingerprintParams{Prefix: prefix, Limit: limit}
	if err := call.Check(p); err != nil {
		return nil, false, err
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	err = s.Read(ctx, func(r store.Reader) error {
		now := s.Now()
		list = nil
		last, err := s.Pending.refused(ctx, r, p.Prefix, now)
		if err != nil {
			return err
		}
		entries, err := r.Entries(ctx, store.EntryQuery{Kind: RefusedKind, From: p.Prefix, Before: store.PrefixEnd(p.Prefix)})
		if err != nil {
			return err
		}
		for _, e := range entries {
			var c refusedCall
			if err := call.Decode(e.Data, &c); err != nil {
				return err
			}
			if e.ExpiresAt.After(now) && strings.HasPrefix(c.Fingerprint, p.Prefix) && last[e.Key].At.Before(c.At) {
				last[e.Key] = c
			}
		}
		more = len(entries) == store.MaxLimit
		for keys := range slices.Chunk(slices.Sorted(maps.Keys(last)), p.Limit+1) {
			ids := make([]string, len(keys))
			for i, key := range keys {
				_, ids[i], _ = find.SplitFingerprint(key)
			}
			licenses, err := licenses.Of(s.Call).Existing(ctx, r, slices.Clone(ids), now)
			if err != nil {
				return err
			}
			for i, key := range keys {
				l, ok := licenses[ids[i]]
				if !ok {
					continue
				}
				if len(list) == p.Limit {
					more = true
					return nil
				}
				list = append(list, RefusedFingerprint{last[key].RefusedCall, last[key].Code, l})
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("find refused fingerprints: %w", err)
	}
	return list, more, nil
}

// refused returns the pending refusals of fingerprints that begin with a prefix.
func (p *Pending) refused(ctx context.Context, r store.Reader, prefix string, now time.Time) (map[string]refusedCall, error) {
	present, err := p.present(ctx, r, p.ids(maxPending)...)
	all := map[string]refusedCall{}
	for id, record := range present {
		for key, c := range latest(id, record.Recent, now) {
			if strings.HasPrefix(c.Fingerprint, prefix) {
				all[key] = c
			}
		}
	}
	return all, err
}
