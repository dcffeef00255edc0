package find

import (
	"context"
	"errors"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// FindPurchases returns the purchase whose reference a search text is, and up to n
// purchases without a license whose reference, customer, name, plan or metadata
// values have all words of the text. more: there may be more.
func (s Service) FindPurchases(ctx context.Context, text string, n int) (list []api.Purchase, more bool, err error) {
	if text = strings.TrimSpace(text); call.IsIdentifier(text) {
		f, err := purchases.Of(s.Call).GetPurchase(ctx, text)
		if err == nil {
			list = append(list, f)
		} else if !errors.Is(err, api.ErrNotFound) {
			return nil, false, err
		}
	}
	words := call.SearchWords(text)
	if len(words) == 0 {
		return list, false, nil
	}
	r, examine := purchases.Together(s.Reader()), s.budget(store.MaxLimit)
	for after := (store.Position{}); examine() > 0; {
		entries, err := purchases.WaitingEntries(ctx, r, "", s.Now(), after)
		if err != nil {
			return nil, false, err
		}
		all, err := purchases.DecodePurchases(entries)
		if err != nil {
			return nil, false, err
		}
		for _, p := range all {
			if p.Reference == text || !call.ContainsAll(p.Text(), words) {
				continue
			}
			if len(list) >= n {
				return list, true, nil
			}
			f, err := purchases.Of(s.Call).ShowPurchase(ctx, r, p)
			if err != nil {
				return nil, false, err
			}
			list = append(list, f)
		}
		if len(entries) < store.MaxLimit {
			return list, false, nil
		}
		last := entries[len(entries)-1]
		after = store.Position{Time: last.ExpiresAt, ID: last.Key}
	}
	return list, true, nil
}
