package files

//lint:file-ignore U1000 package inner reaches these methods through a promoted method, which the check does not see.

import (
	"context"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// inside leads the other packages of this module to the methods of internals,
// with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of a Service for the handler and the dashboard. Other
// files declare more of them.
type internals struct{ s *Service }

// Of returns the methods for s.
func (internals) Of(s *Service) internals { return internals{s} }

// Validate returns an error that names the invalid key of the host in
// Options.SigningKeys and says how to fix it.
func (i internals) Validate(hostKeys []SigningKey) error {
	_, err := signersOf(hostKeys)
	if err == nil {
		_, err = lenderOf(hostKeys)
	}
	return err
}

// Init makes a zero Service ready. The hostKeys are keys whose private half is not
// in the store; if there are any, the Service generates none itself. Init panics if
// one of them is invalid. revoked returns the licenses of a product some files of
// which are refused, for [Service.Revocations], or one of them and when that was last
// changed, for [Service.LicenseRevocations]. totals returns what an office has
// counted, for [Service.OfficeRequest]. Init does no I/O and starts no goroutine.
func (i internals) Init(c inner.Config, hostKeys []SigningKey, revoked func(ctx context.Context, productID, licenseID string) ([]licensefile.RevokedLicense, time.Time, error), totals func(context.Context) (map[string]int64, error)) {
	host, err := signersOf(hostKeys)
	if err != nil {
		panic("files: " + err.Error())
	}
	lender, err := lenderOf(hostKeys)
	if err != nil {
		panic("files: " + err.Error())
	}
	*i.s = Service{st: c.Store, opts: c, hostKeys: hostKeys, host: host, lender: lender, revoked: revoked, totals: totals, warned: new(sync.Once), cache: new(cache)}
}

// In returns a Service whose calls are part of a running Update, through its
// store. After the Update, call Flush.
func (i internals) In(st store.Store) *Service {
	in := *i.s
	in.st = st
	return &in
}

// Office returns the claims of the file of the office; nil: the service is the vendor's.
func (i internals) Office() *licensefile.Claims {
	if i.s.lender == nil {
		return nil
	}
	return &i.s.lender.Claims
}

// Flush makes the next signature read the keys from the store.
func (i internals) Flush() { i.s.cache.flush() }
