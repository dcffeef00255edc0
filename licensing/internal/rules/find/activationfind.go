package find

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/store"
)

// fingerprintParams select activations of all licenses.
type fingerprintParams struct {
	Prefix string `json:"prefix" validate:"text"`         // fingerprints begin with it, compared byte by byte
	Limit  int    `json:"limit" validate:"min=0,max=200"` // page size; 0: 50
	Cursor string `json:"cursor"`                         // NextCursor of the previous page
}

// A foundActivation is an activation and its license.
type foundActivation struct {
	Activation api.Activation
	License    api.License
}

// maxFingerprints is how many activations one page examines.
const maxFingerprints = 1000

// FindActivations lists activations by the beginning of their fingerprint, in
// order of fingerprint and license ID, byte by byte: active and ended ones, of
// licenses that exist for the caller. Activations of deleted licenses are left
// out. A page examines 1,000 activations; it can be short although HasMore is
// true. The cursor is the NextCursor of the previous page, and the limit its size, from
// 1 to 200; zero: 50.
func (s Service) FindActivations(ctx context.Context, prefix, cursor string, limit int) (page api.Page[foundActivation], err error) {
	p := fingerprintParams{prefix, limit, cursor}
	if err := call.Check(p); err != nil {
		return page, err
	}
	p.Limit = cmp.Or(p.Limit, valid.DefaultLimit)
	q := store.ActivationQuery{FingerprintPrefix: p.Prefix, Limit: maxFingerprints}
	if p.Cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		q.AfterFingerprint, q.AfterLicenseID, _ = strings.Cut(string(after), "\n")
		if err != nil || !record.IsID("lic", q.AfterLicenseID) || !strings.HasPrefix(q.AfterFingerprint, p.Prefix) {
			return page, call.ErrCursor
		}
	}
	return call.View(ctx, s.Call, "find activations", func(r store.Reader) (page api.Page[foundActivation], err error) {
		now := s.Now()
		page = api.Page[foundActivation]{Data: []foundActivation{}}
		rows, err := r.Activations(ctx, q)
		if err != nil {
			return page, err
		}
		for part := range slices.Chunk(rows, p.Limit+1) { // the first is enough if the caller sees its licenses
			ids := make([]string, len(part))
			for i, row := range part {
				ids[i] = row.LicenseID
			}
			licenses, err := licenses.Of(s.Call).Existing(ctx, r, ids, now)
			if err != nil {
				return page, err
			}
			for _, row := range part {
				l, ok := licenses[row.LicenseID]
				if !ok {
					continue
				}
				if len(page.Data) == p.Limit {
					last := page.Data[p.Limit-1].Activation
					page.HasMore, page.NextCursor = true, fingerprintCursor(last.Fingerprint, last.LicenseID)
					return page, nil
				}
				rec, err := record.ReadActivation(row)
				if err != nil {
					return page, err
				}
				a, err := seats.ActivationAt(rec, now)
				if err != nil {
					return page, err
				}
				page.Data = append(page.Data, foundActivation{a, l})
			}
		}
		if len(rows) == maxFingerprints {
			last := rows[len(rows)-1]
			page.HasMore, page.NextCursor = true, fingerprintCursor(last.Fingerprint, last.LicenseID)
		}
		return page, nil
	})
}

// fingerprintCursor joins a fingerprint, which has no line break, and a license ID.
func fingerprintCursor(fingerprint, licenseID string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(fingerprint + "\n" + licenseID))
}
