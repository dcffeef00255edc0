package program

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// other returns the product of which the license can be beside one; empty: none.
func (l *License) other(product string) string {
	if product == l.opts.ProductID {
		return l.opts.AlsoProductID
	}
	return l.opts.ProductID
}

// seatOf returns the fingerprint of this installation in a license of a product.
func (l *License) seatOf(product string) string {
	if product == l.opts.AlsoProductID && product != "" {
		return l.alsoPrint
	}
	return l.fingerprint
}

// grants returns the entitlements that a license of a product must have: one of
// AlsoProductID is for this program only if it has that named as ProductID.
func (l *License) grants(product string) []string {
	if product != l.opts.AlsoProductID || product == "" {
		return nil
	}
	return []string{l.opts.ProductID}
}

// productOf returns the product that a license file must be for.
func (l *License) productOf(f licensefile.File) string {
	also := l.opts.AlsoProductID
	if _, granted := f.Entitlements[l.opts.ProductID]; granted && also != "" && f.ProductID == also {
		return also
	}
	return l.opts.ProductID
}

// check checks a license file against its product and fingerprint. A request without a
// network is made before the product of the license is known, so the file that answers it
// can have the fingerprint of ProductID.
func (l *License) check(f licensefile.File, want licensefile.Expect) error {
	want.ProductID = l.productOf(f)
	want.Fingerprint = l.seatOf(want.ProductID)
	err := f.Check(want)
	if errors.Is(err, licensefile.ErrFingerprint) && want.Fingerprint != l.fingerprint {
		want.Fingerprint = l.fingerprint
		err = f.Check(want)
	}
	return err
}

// setProduct sets the product of the license in use. The revocation list of another one does
// not cover it. The caller holds l.mu.
func (l *License) setProduct(product string) {
	if product == l.product {
		return
	}
	l.product = product
	l.revoked, l.listText, l.listAt, l.listError = nil, "", time.Time{}, nil
}

// query asks the service about a key, and takes a seat if one is missing and within reach. If
// the license is for another product, it asks with the other one that the program accepts, so
// that it takes no seat of a license that is for neither.
func (l *License) query(ctx context.Context, key string, how reach) (result, error) {
	l.mu.Lock()
	product := l.product
	if key != l.key {
		product = l.opts.ProductID
	}
	l.mu.Unlock()
	r, err := l.queryAs(ctx, key, how, product)
	if also := l.other(product); err == nil && also != "" && isFor(r, api.VerdictProductMismatch) {
		second, wrong := l.queryAs(ctx, key, how, also)
		if wrong != nil || !isFor(second, api.VerdictProductMismatch) && !isFor(second, api.VerdictEntitlementMissing) {
			return second, wrong
		}
	}
	if isFor(r, api.VerdictEntitlementMissing) && len(l.grants(product)) > 0 {
		r.Code = api.VerdictProductMismatch // the license has ceased to be for this program
	}
	return r, err
}

// isFor reports whether a verdict has a reason.
func isFor(r result, code api.VerdictCode) bool {
	return slices.ContainsFunc(r.Reasons, func(reason api.Reason) bool { return reason.Code == code })
}
