package catalog

import (
	"context"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// lagOf returns how far a state is behind an event. During a scan it is estimated
// from the times in the license IDs.
func lagOf(ctx context.Context, r store.Reader, st state, target int64) (*Lag, error) {
	done, all := int64(0), target
	switch {
	case st.Next != nil && st.Next.Scanning:
		first, err := r.Licenses(ctx, store.LicenseQuery{Limit: 1})
		if err != nil {
			return nil, err
		}
		last, err := r.Licenses(ctx, store.LicenseQuery{Limit: 1, Descending: true})
		if err != nil {
			return nil, err
		}
		if len(first) > 0 && len(last) > 0 {
			done, all = millis(st.Next.Scanned)-millis(first[0].ID), millis(last[0].ID)-millis(first[0].ID)
		}
	case st.Next != nil:
		done = st.Next.Seq
	case st.Live != nil:
		done = st.Live.Seq
	}
	if all <= 0 {
		return &Lag{}, nil
	}
	return &Lag{Percent: int(max(0, min(99, done*100/all)))}, nil
}

// millis returns the Unix time in milliseconds that store.NewID put in an ID.
func millis(id string) (ms int64) {
	_, digits, _ := strings.Cut(id, "_")
	for i := range min(len(digits), 10) {
		ms = ms<<5 | int64(max(0, strings.IndexByte("0123456789abcdefghjkmnpqrstvwxyz", digits[i])))
	}
	return ms
}
