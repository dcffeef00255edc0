package files

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Options are what tests set of what the handler gives a Service.
type Options struct {
	Now                func() time.Time
	Logger             *slog.Logger
	MasterKey          []byte
	PreviousMasterKeys [][]byte
	SigningKeys        []SigningKey
}

// New returns a Service.
func New(st store.Store, o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := new(Service)
	inner.Of(s).Init(inner.Config{Store: st, Now: o.Now, Logger: o.Logger, MasterKey: o.MasterKey, PreviousMasterKeys: o.PreviousMasterKeys},
		o.SigningKeys, func(context.Context, string, string) ([]licensefile.RevokedLicense, time.Time, error) {
			return nil, time.Time{}, nil
		}, nil)
	return s
}

// LicenseListsMost is how many lists of single licenses are kept.
const LicenseListsMost = licenseListsMost

// Remember makes s keep the list of a license, and returns how many it keeps.
func Remember(s *Service, licenseID string) int {
	s.cache.licenseList(listedLicense{"atlas", licenseID})
	return len(s.cache.licenses)
}
