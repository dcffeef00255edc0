package catalogcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// The texts of licenses and the searches among them.
var (
	names     = []string{"Anna Annabel", "annika", "Zürich-Pro", "東京都 Atlas", "한국어", "a b c d e f g h i j k l m n o p q r", "Обмен", "éa", "Pro 2026"}
	customers = []string{"ada@example.com", "bob", "Bob", "cus_01", "客戶", "anno/1", "b\u00f6b"}
	products  = []string{"atlas", "prod_editor", "x"}
	searches  = []string{"a", "ann", "anna", "annab", "z", "zür", "zurich", "pro", "p", "2", "2026", "東", "京", "東京", "京都", "東都", "국어", "обм",
		"bob", "böb", "example", "com ada", "anna pro", "q", "p q", "r", "order", "ord 7", "7", "host", "host-1", "host-12 ann", "客", "xyz", "é"}
)

func pick[E any](dice *rand.Rand, list []E) E { return list[dice.IntN(len(list))] }

func ptr[E any](e E) *E { return &e }

// Change makes one random change of a random license, or creates one.
func (p *Process) Change(ctx context.Context, dice *rand.Rand) error {
	page, err := p.List(ctx, license.ListParams{Limit: 60, NewestFirst: dice.IntN(2) == 0})
	if err != nil {
		return err
	}
	if len(page.Data) == 0 || dice.IntN(4) == 0 {
		c := license.CreateParams{Name: pick(dice, names), ProductID: pick(dice, products), CustomerID: pick(dice, customers)}
		if dice.IntN(2) == 0 {
			c.Metadata = map[string]string{"a": fmt.Sprintf("order %d", dice.IntN(9)), "b": pick(dice, names)}
			c.ExpiresAt = ptr(time.UnixMilli(p.clock.Load() + dice.Int64N(1e9) + 1000))
		}
		_, err := p.Create(ctx, c)
		return err
	}
	l := pick(dice, page.Data)
	switch dice.IntN(10) {
	case 0:
		err = p.Delete(ctx, license.DeleteParams{ID: l.ID})
	case 1:
		_, err = p.Suspend(ctx, license.MoveParams{ID: l.ID})
	case 2:
		_, err = p.Reinstate(ctx, license.MoveParams{ID: l.ID})
	case 3:
		_, err = p.Revoke(ctx, license.MoveParams{ID: l.ID})
	case 4:
		_, err = p.Rekey(ctx, license.RekeyParams{ID: l.ID})
	case 5:
		_, err = p.Update(ctx, license.UpdateParams{ID: l.ID, CustomerID: ptr(pick(dice, customers))})
	case 6:
		_, err = p.Update(ctx, license.UpdateParams{ID: l.ID, Name: ptr(pick(dice, names)), ProductID: ptr(pick(dice, products))})
	case 7:
		_, err = p.Deactivate(ctx, license.DeactivateParams{Key: l.Key, Fingerprint: fmt.Sprint("host-", dice.IntN(20))})
	default:
		_, err = p.Activate(ctx, license.ActivateParams{Key: l.Key, Fingerprint: fmt.Sprint("host-", dice.IntN(20))})
	}
	for _, expected := range []error{license.ErrNotFound, license.ErrMove, license.ErrDenied, license.ErrKeyTaken} {
		if errors.Is(err, expected) {
			return nil // another writer was faster
		}
	}
	return err
}

// disturb asks, interrupts the indexing, and erases a customer, while others
// write.
func (p *Process) disturb(t *testing.T, dice *rand.Rand) {
	for range 4 {
		switch dice.IntN(4) {
		case 0:
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(dice.IntN(5000))*time.Microsecond)
			_ = p.Index(ctx)
			cancel()
		case 1:
			o, err := p.Overview(t.Context())
			if err != nil {
				t.Errorf("overview: %v", err)
			}
			for status, n := range o.ByStatus {
				if n < 0 {
					t.Errorf("%d licenses are %s", n, status)
				}
			}
		case 2:
			if _, err := p.List(t.Context(), license.ListParams{Search: pick(dice, searches)}); err != nil {
				t.Errorf("search: %v", err)
			}
		case 3:
			customer := pick(dice, customers)
			if dice.IntN(3) > 0 {
				continue
			}
			if _, err := p.EraseCustomer(t.Context(), customer); err != nil {
				t.Errorf("erase: %v", err)
			}
		}
	}
}
