package licenses

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// HoldKind is the kind of the entries of suspended customers. Key is the digest of the ID,
// and Data a Hold. They never expire.
const HoldKind = "customer_hold"

// A Hold is the suspension of a customer.
type Hold struct {
	Reason string `json:"reason,omitempty"`
}

// FindHold returns the suspension of a customer, if there is one.
func FindHold(ctx context.Context, r store.Reader, customerID string) (h Hold, held bool, err error) {
	return holdAt(ctx, r, call.Digest(customerID))
}

// holdAt is FindHold by the key of the entry.
func holdAt(ctx context.Context, r store.Reader, key string) (h Hold, held bool, err error) {
	e, err := r.Entry(ctx, HoldKind, key)
	if errors.Is(err, store.ErrNotFound) {
		return Hold{}, false, nil
	}
	if err == nil {
		err = call.Decode(e.Data, &h)
	}
	return h, err == nil, err
}

// followCustomer makes the suspension of the customer of a license, which was rec, one of
// the license, or ends it.
func followCustomer(ctx context.Context, tx *call.Tx, rec record.License, next *record.License) error {
	if next.State == store.StateRevoked {
		return nil
	}
	was, err := SuspensionOf(rec)
	if err != nil {
		return err
	}
	is, err := SuspensionOf(*next)
	if err != nil || rec.CustomerID == next.CustomerID && !was.ByCustomer && !is.ByCustomer {
		return err
	}
	key := call.Digest(next.CustomerID)
	if err := tx.Want(ctx, store.Wanted{Absent: [][2]string{{HoldKind, key}}}); err != nil {
		return err
	}
	h, held, err := holdAt(ctx, tx, key)
	if err == nil && (is.ByCustomer != held || is.CustomerReason != h.Reason) {
		is.ByCustomer, is.CustomerReason = held, h.Reason
		PutSuspension(is, next, tx.Now)
	}
	return err
}
