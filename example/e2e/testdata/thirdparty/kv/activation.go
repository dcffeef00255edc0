package kv

import (
	"context"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

func (t *tx) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	return do(ctx, t, "activation of license "+licenseID, func() (store.Activation, error) {
		return get[store.Activation](t, key("fingerprint", fingerprint, licenseID))
	})
}

func (t *tx) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	return do(ctx, t, "activations of license "+q.LicenseID, func() ([]store.Activation, error) {
		if err := refused(q.Check()); err != nil {
			return nil, err
		}
		return list(t, t.activationKeys(q), q.Limit, func(a store.Activation) bool {
			live := a.EndedAt.IsZero() && (a.LeaseEndsAt.IsZero() || a.LeaseEndsAt.After(q.LiveAt))
			return is(q.LicenseID, a.LicenseID) && isText(q.FingerprintPrefix) &&
				strings.HasPrefix(a.Fingerprint, q.FingerprintPrefix) && q.LeaseEnds.Contains(a.LeaseEndsAt) && (q.LiveAt.IsZero() || live)
		})
	})
}

func (t *tx) activationKeys(q store.ActivationQuery) walk {
	if q.FingerprintPrefix != "" {
		prefix := key("fingerprint")
		s := span{prefix + q.FingerprintPrefix, prefix + q.FingerprintPrefix + "\xff"} // no text has such a byte
		return walk{spans: []span{s.after(prefix+key(q.AfterFingerprint, q.AfterLicenseID), false)}}
	}
	if !q.LeaseEnds.IsZero() {
		prefix := key("lease", q.LicenseID)
		spans := []span{under(prefix).in(q.LeaseEnds)}
		if q.LeaseEnds.OrNone {
			spans = append([]span{under(prefix + key(instant(time.Time{})))}, spans...)
		}
		return walk{spans: spans}
	}
	prefix := key("A", q.LicenseID)
	if !q.LiveAt.IsZero() {
		prefix = key("live", q.LicenseID)
	}
	s := under(prefix)
	if q.After != "" {
		s = s.after(prefix+key(q.After), false)
	}
	return walk{spans: []span{s}}
}
