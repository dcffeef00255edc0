package find

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// namedPurchases is what the data of an event says of purchases.
type namedPurchases struct {
	Reference string   `json:"reference"`
	Ended     []string `json:"ended"`
	License   struct {
		Reference string `json:"reference"` // a field of the license, which exists for the caller
	} `json:"license"`
}

// hideReferences removes from events the purchases that do not exist for a caller limited to
// products: a license may have purchases of other products. The events stay.
func (s Service) hideReferences(ctx context.Context, r store.Reader, events []api.Event) error {
	if s.Caller.Products == nil {
		return nil
	}
	said := make([]namedPurchases, len(events))
	var keys []string
	for i, e := range events {
		if err := call.Decode(e.Data, &said[i]); err != nil {
			return fmt.Errorf("event %s: %w", e.ID, err)
		}
		for _, reference := range append([]string{said[i].Reference}, said[i].Ended...) {
			if reference != "" && reference != said[i].License.Reference {
				keys = append(keys, call.Digest(reference))
			}
		}
	}
	slices.Sort(keys)
	seen := map[string]bool{}
	for some := range slices.Chunk(slices.Compact(keys), store.MaxLimit) {
		found, err := r.Entries(ctx, store.EntryQuery{Kind: purchases.PurchaseKind, Keys: some})
		if err != nil {
			return err
		}
		all, err := purchases.DecodePurchases(found)
		if err != nil {
			return err
		}
		for i, p := range all {
			seen[found[i].Key] = purchases.Of(s.Call).SeesPurchase(p)
		}
	}
	for i := range events {
		data, err := said[i].without(events[i].Data, func(reference string) bool {
			return reference != "" && reference != said[i].License.Reference && !seen[call.Digest(reference)]
		})
		if err != nil {
			return err
		}
		events[i].Data = data
	}
	return nil
}

// without returns the data of an event without hidden purchases.
func (n namedPurchases) without(data []byte, hidden func(reference string) bool) ([]byte, error) {
	if !hidden(n.Reference) && !slices.ContainsFunc(n.Ended, hidden) {
		return data, nil
	}
	var members map[string]json.RawMessage
	if err := call.Decode(data, &members); err != nil {
		return nil, err
	}
	if hidden(n.Reference) {
		delete(members, "reference")
		delete(members, "granted")
	}
	if ended := slices.DeleteFunc(n.Ended, hidden); len(ended) > 0 {
		members["ended"] = record.Encode(ended)
	} else {
		delete(members, "ended")
	}
	return record.Encode(members), nil
}
