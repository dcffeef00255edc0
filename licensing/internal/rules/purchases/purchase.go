package purchases

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/store"
)

// The kinds of the entries of purchases. The key of purchaseKind is the digest of
// the reference. The others lead to it: their keys begin with a license ID, or
// with the digest of a customer ID, and end with that digest. A purchase that is
// waiting for its license expires; its Owner is what it waits for. Any other is kept forever.
const (
	PurchaseKind           = "purchase"
	PurchaseOfLicenseKind  = "purchase_license"
	PurchaseOfCustomerKind = "purchase_customer"

	// WaitingWithLicenseKind is the kind of the entries of purchases that wait for something
	// although they have a license. Key is what they wait for, a slash and the digest.
	WaitingWithLicenseKind = "purchase_waiting"
)

// waitingFor is how long a purchase without a license is kept after its last event.
const waitingFor = 90 * 24 * time.Hour

// A Purchase is what the events of one reference say. See [purchase.merge].
type Purchase struct {
	Reference  string    `json:"reference,omitempty"`
	CustomerID string    `json:"customer_id,omitempty"`
	LicenseID  string    `json:"license_id,omitempty"` // its license or, before it is granted, the one that it is meant for
	LicenseAt  time.Time `json:"license_at,omitzero"`  // the At of the event that named it, before it is granted
	NotFor     string    `json:"not_for,omitempty"`    // the license that it was meant for, which another customer has
	// Former are the digests of earlier IDs of the customer, which events may still
	// name: with true, the ID was corrected; with false, it is that of another customer, who
	// had the license before a transfer.
	Former map[string]bool `json:"former,omitempty"`
	// Claimed reports that the customer has claimed the license: the address in an event that
	// does not name the customer is another person's.
	Claimed bool `json:"claimed,omitempty"`

	Plan     Said[string]             `json:"plan,omitzero"`
	Name     Said[string]             `json:"name,omitzero"`
	Reason   Said[string]             `json:"reason,omitzero"`
	Quantity Said[int64]              `json:"quantity,omitzero"`
	Until    Said[time.Time]          `json:"until,omitzero"` // zero: it never ends
	Renews   Said[bool]               `json:"renews,omitzero"`
	State    Said[api.PurchaseState]  `json:"state,omitzero"` // active or paused
	Metadata map[string]Said[*string] `json:"metadata,omitempty"`

	FirstActive time.Time `json:"first_active,omitzero"`
	FirstEnded  time.Time `json:"first_ended,omitzero"` // of the ended events after Reopened
	LastEnded   time.Time `json:"last_ended,omitzero"`
	// FirstRefunded and LastRefunded are those of the refunded events after Reopened.
	FirstRefunded time.Time `json:"first_refunded,omitzero"`
	LastRefunded  time.Time `json:"last_refunded,omitzero"`
	Reopened      time.Time `json:"reopened,omitzero"`

	// Terms are those of the latest plan that applies. The plan of a later event
	// may not exist, or be one of another product.
	Terms Said[api.Plan] `json:"terms,omitzero"`

	// Made reports that the purchase created its license.
	Made bool `json:"made,omitempty"`
	// Updates is UpdatesUntil of the license, in the purchase that stands for a license
	// that no purchase made.
	Updates time.Time `json:"updates,omitzero"`

	// Activated is when the license was first activated, if that is when the plan starts.
	Activated time.Time `json:"activated,omitzero"`

	Granted bool `json:"granted,omitempty"` // it has had a license
	// Waits is what it waits for; empty: nothing. Before it is granted, it is the Owner of its entry.
	Waits    api.Waiting `json:"waits,omitempty"`
	Erased   bool        `json:"erased,omitempty"`   // see Service.EraseCustomer
	Product  string      `json:"product,omitempty"`  // of an erased purchase
	Subjects []string    `json:"subjects,omitempty"` // of a trial: the keys of its entries of trialKind
	Later    int         `json:"later,omitempty"`    // how many of Subjects a repeated call has bound

	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// transferred reports whether another customer had its license.
func (p Purchase) transferred() bool {
	for _, same := range p.Former {
		if !same {
			return true
		}
	}
	return false
}

// WithoutAddress returns a purchase of a license that was claimed: without the address of the
// former customer, which the metadata has under a key.
func (p Purchase) WithoutAddress(emailKey string) Purchase {
	p.Claimed, p.Metadata = true, maps.Clone(p.Metadata)
	delete(p.Metadata, emailKey)
	return p
}

// units returns the quantity.
func (p Purchase) units() int64 { return max(1, p.Quantity.Value) }

// ProductID returns the product of the plan; empty: none is known.
func (p Purchase) ProductID() string {
	if p.Erased {
		return p.Product
	}
	return p.Terms.Value.ProductID
}

// ReadPurchase returns the purchase with a reference, unless it has expired.
func ReadPurchase(ctx context.Context, r store.Reader, reference string, now time.Time) (p Purchase, ok bool, err error) {
	e, err := r.Entry(ctx, PurchaseKind, call.Digest(reference))
	if errors.Is(err, store.ErrNotFound) || err == nil && isOver(e, now) {
		return Purchase{}, false, nil
	}
	if err == nil {
		err = call.Decode(e.Data, &p)
	}
	return p, err == nil, err
}

func isOver(e store.Entry, now time.Time) bool {
	return !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(now)
}

// OfLicense returns the purchases of a license that have been granted, also if they are
// more than count. An Update reads and decodes them once: the caller must not
// change them, and [PutPurchase] does.
func OfLicense(ctx context.Context, r store.Reader, licenseID string) (all []Purchase, err error) {
	tx, _ := r.(*call.Tx)
	if tx == nil {
		return readPurchases(ctx, r, licenseID)
	}
	lists, ok := tx.Kept(PurchaseKind).(map[string][]Purchase)
	if !ok {
		lists = map[string][]Purchase{}
		tx.Keep(PurchaseKind, lists)
	}
	if all, ok = lists[licenseID]; !ok {
		if all, err = readPurchases(ctx, r, licenseID); err == nil {
			lists[licenseID] = all
		}
	}
	return all, err
}

// keepPurchase puts a purchase that was stored as data among those of its license that the Update
// has read. lists are those of before.
func keepPurchase(tx *call.Tx, lists any, p Purchase, data []byte) error {
	kept, _ := lists.(map[string][]Purchase)
	all, ok := kept[p.LicenseID]
	if !ok || !p.Granted || p.Erased {
		delete(kept, p.LicenseID)
	} else {
		var is Purchase
		if err := call.Decode(data, &is); err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(p Purchase) bool { return p.Reference == is.Reference }); i >= 0 {
			all[i] = is
		} else {
			kept[p.LicenseID] = append(all, is)
		}
	}
	tx.Keep(PurchaseKind, kept)
	return nil
}

func readPurchases(ctx context.Context, r store.Reader, licenseID string) (all []Purchase, err error) {
	prefix := licenseID + "/"
	q := store.EntryQuery{Kind: PurchaseOfLicenseKind, From: prefix, Before: store.PrefixEnd(prefix)}
	for {
		links, err := r.Entries(ctx, q)
		if err != nil || len(links) == 0 {
			return all, err
		}
		some, err := LinkedPurchases(ctx, r, links)
		if all = append(all, some...); err != nil || len(links) < store.MaxLimit {
			return all, err
		}
		q.After.ID = links[len(links)-1].Key
	}
}

// waitingPurchases returns up to 1,000 purchases that wait for something; an empty waits:
// for anything. Purchases that have a license are the last ones, and are never left out
// for others.
func waitingPurchases(ctx context.Context, r store.Reader, waits api.Waiting, now time.Time) ([]Purchase, error) {
	waiting, err := WaitingEntries(ctx, r, waits, now, store.Position{})
	if err != nil {
		return nil, err
	}
	all, err := DecodePurchases(waiting)
	if err != nil {
		return nil, err
	}
	q := store.EntryQuery{Kind: WaitingWithLicenseKind}
	if waits != "" {
		q.From = string(waits) + "/"
		q.Before = store.PrefixEnd(q.From)
	}
	links, err := r.Entries(ctx, q)
	if err != nil || len(links) == 0 {
		return all, err
	}
	some, err := LinkedPurchases(ctx, r, links)
	if err != nil {
		return nil, err
	}
	return append(all[:min(len(all), store.MaxLimit-len(some))], some...), nil
}

// LinkedPurchases returns the purchases that other entries lead to.
func LinkedPurchases(ctx context.Context, r store.Reader, links []store.Entry) ([]Purchase, error) {
	keys := make([]string, len(links))
	for i, e := range links {
		keys[i] = e.Key[strings.LastIndexByte(e.Key, '/')+1:]
	}
	found, err := r.Entries(ctx, store.EntryQuery{Kind: PurchaseKind, Keys: keys})
	if err != nil {
		return nil, err
	}
	return DecodePurchases(found)
}

// DecodePurchases returns the purchases of entries. It decodes them as one document, and equal plans
// once: most purchases of a license have one of a few plans, and this allocates less than half as many
// objects. Purchases share what their plans refer to, so the caller must not change it.
func DecodePurchases(list []store.Entry) ([]Purchase, error) {
	document := []byte("[")
	for i, e := range list {
		if i > 0 {
			document = append(document, ',')
		}
		document = append(document, e.Data...)
	}
	rows := make([]struct {
		Purchase
		Terms Said[json.RawMessage] `json:"terms"`
	}, 0, len(list))
	if err := call.Decode(append(document, ']'), &rows); err != nil {
		return nil, err
	}
	all := make([]Purchase, len(rows))
	decoded := map[string]api.Plan{}
	for i, row := range rows {
		if _, ok := decoded[string(row.Terms.Value)]; !ok {
			var plan api.Plan
			if err := call.Decode(row.Terms.Value, &plan); err != nil {
				return nil, err
			}
			decoded[string(row.Terms.Value)] = plan
		}
		all[i] = row.Purchase
		all[i].Terms = Said[api.Plan]{decoded[string(row.Terms.Value)], row.Terms.At}
	}
	return all, nil
}

// PutPurchase stores what a purchase has become, and returns it. Without a license
// it expires. If nothing has changed, it writes nothing.
func PutPurchase(ctx context.Context, tx *call.Tx, before, p Purchase) (Purchase, error) {
	p.CreatedAt, p.UpdatedAt = before.CreatedAt, before.UpdatedAt
	if bytes.Equal(record.Encode(before), record.Encode(p)) {
		return p, nil
	}
	p.UpdatedAt = tx.Now
	if p.CreatedAt.IsZero() {
		p.CreatedAt = tx.Now
	}
	entry := store.Entry{Kind: PurchaseKind, Key: call.Digest(p.Reference), CreatedAt: p.CreatedAt}
	if p.Erased {
		p.Reference = ""
	}
	entry.Data = record.Encode(p)
	if !p.Granted {
		entry.Owner, entry.ExpiresAt = string(p.Waits), tx.Now.Add(waitingFor)
	}
	lists := tx.Kept(PurchaseKind)
	if err := entries.Follow(ctx, tx, before.links(entry), p.links(entry), entry); err != nil || lists == nil {
		return p, err
	}
	return p, keepPurchase(tx, lists, p, entry.Data)
}

// links returns the entries that lead to a purchase, which follow from it.
func (p Purchase) links(to store.Entry) (links []store.Entry) {
	link := func(is bool, kind, owner string) {
		if is && owner != "" {
			links = append(links, store.Entry{Kind: kind, Key: owner + "/" + to.Key, ExpiresAt: to.ExpiresAt, CreatedAt: to.CreatedAt})
		}
	}
	if p.CustomerID != "" {
		link(true, PurchaseOfCustomerKind, call.Digest(p.CustomerID))
	}
	link(p.Granted && !p.Erased, PurchaseOfLicenseKind, p.LicenseID)
	link(p.Granted, WaitingWithLicenseKind, string(p.Waits))
	link(!p.IsOwn(), plans.PurchaseOfPlanKind, p.Terms.Value.ID)
	return links
}
