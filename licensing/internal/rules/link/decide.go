package link

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A coded is a link that was found by its code.
type coded struct {
	link
	code string
	key  string // of the link
	end  time.Time
}

// byCode returns the link that waits under a typed code, or [api.ErrLinkGone].
func byCode(ctx context.Context, r store.Reader, typed string, now time.Time) (c coded, err error) {
	code, ok := parseCode(typed)
	if !ok {
		return coded{}, api.ErrLinkGone
	}
	e, err := find(ctx, r, CodeKind, codeKey(code), now)
	if err != nil {
		return coded{}, err
	}
	c = coded{code: code, key: string(e.Data)}
	c.link, c.end, err = findLink(ctx, r, c.key, now)
	return c, err
}

// Request returns the installation that asks with a code.
func (s Service) Request(ctx context.Context, code string) (request api.LinkRequest, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		c, err := byCode(ctx, r, code, s.Now())
		if err == nil {
			request = api.LinkRequest{Code: shownCode(c.code), ProductID: c.ProductID, Fingerprint: c.Fingerprint, Name: c.Name, ExpiresAt: c.end, AlsoProductID: c.AlsoProductID}
		}
		return err
	})
	if err != nil {
		return api.LinkRequest{}, fmt.Errorf("link: %w", err)
	}
	return request, nil
}

// Approve activates the installation that asks with a code on a license of the customer
// who makes the call. In the Update that stores the activation, the code ends, so that it
// is used once, and the link gets the license. A refused activation changes neither.
func (s Service) Approve(ctx context.Context, p api.ApproveLinkParams) (api.Activation, error) {
	if err := call.Check(p); err != nil {
		return api.Activation{}, err
	}
	c, err := byCode(ctx, s.Reader(), p.Code, s.Now())
	if err != nil {
		return api.Activation{}, fmt.Errorf("approve link: %w", err)
	}
	activate := api.ActivateKeyParams{Fingerprint: c.Fingerprint, Name: c.Name, ProductID: c.ProductID, TakeOver: p.TakeOver}
	bundle, err := s.isBundle(ctx, c.link, p.LicenseID)
	if err != nil {
		return api.Activation{}, fmt.Errorf("approve link: %w", err)
	}
	if bundle {
		activate.ProductID, activate.Fingerprint = c.AlsoProductID, c.AlsoFingerprint
	}
	v, err := seats.Of(s.Call).ActivateFor(ctx, p.LicenseID, activate, seats.Occasion{
		Entries: [][2]string{{CodeKind, codeKey(c.code)}, {LinkKind, c.key}},
		Check: func(r store.Reader, now time.Time) error {
			_, err := byCode(ctx, r, p.Code, now)
			return err
		},
		Put: func(tx *call.Tx, activationID string) error {
			approved := link{LicenseID: p.LicenseID, ActivationID: activationID}
			if err := tx.PutEntries(ctx, entry(LinkKind, c.key, record.Encode(approved), tx.Now, c.end)); err != nil {
				return err
			}
			return tx.DeleteEntries(ctx, CodeKind, codeKey(c.code))
		},
	})
	if err != nil {
		return api.Activation{}, fmt.Errorf("approve link: %w", err)
	}
	return *v.Activation, nil
}

// isBundle reports whether a license is one of the bundle that a program accepts too, and has
// the program.
func (s Service) isBundle(ctx context.Context, l link, licenseID string) (bool, error) {
	if l.AlsoProductID == "" {
		return false, nil
	}
	found, err := licenses.Of(s.Call).Get(ctx, licenseID)
	return s.Includes(found, l.ProductID, l.AlsoProductID), err
}

// Includes reports whether a license is one of a bundle that has a program.
func (Service) Includes(l api.License, productID, bundleID string) bool {
	_, granted := l.Entitlements[productID]
	return granted && bundleID != "" && l.ProductID == bundleID
}

// Decline ends the link that waits under a code.
func (s Service) Decline(ctx context.Context, code string) error {
	err := s.Write(ctx, func(tx *call.Tx) error {
		c, err := byCode(ctx, tx, code, tx.Now)
		if err != nil {
			return err
		}
		if err := tx.DeleteEntries(ctx, LinkKind, c.key); err != nil {
			return err
		}
		return tx.DeleteEntries(ctx, CodeKind, codeKey(c.code))
	})
	if err != nil {
		return fmt.Errorf("decline link: %w", err)
	}
	return nil
}
