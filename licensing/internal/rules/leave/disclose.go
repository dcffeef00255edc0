package leave

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ExportCustomer writes what is stored about a customer; see package license.
func (s Service) ExportCustomer(ctx context.Context, w io.Writer, customerID string) error {
	if customerID == "" {
		return api.Invalid("customer_id", api.FieldRequired, "is required")
	}
	if s.Caller.Products != nil {
		return api.ErrProductForbidden
	}
	d := disclosure{Service: s, customerID: customerID, w: bufio.NewWriterSize(w, 32<<10)}
	if err := d.run(ctx); err != nil {
		return fmt.Errorf("export customer: %w", err)
	}
	return nil
}

// A disclosure is a call of ExportCustomer.
type disclosure struct {
	Service
	customerID string
	w          *bufio.Writer
	licenses   []string // their IDs
	first      bool     // nothing was written to the current list
}

// run writes an object with a list for each trace of the customer.
func (d *disclosure) run(ctx context.Context) error {
	err := d.eachLicense(ctx, func(row store.License) error {
		d.licenses = append(d.licenses, row.ID)
		return nil
	})
	if err == nil {
		err = d.exported(ctx)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(d.w, `{"object":"customer_export","customer_id":%s,"created_at":%s`, record.Encode(d.customerID), record.Encode(d.Now()))
	for _, t := range traces {
		list := t.disclosed
		if list == nil && len(t.kinds) == len(t.hidden) { // nothing to show
			continue
		}
		fmt.Fprintf(d.w, ",\n%s:[", record.Encode(strings.ReplaceAll(t.name, " ", "_")))
		d.first = true
		if list == nil {
			list = func(d *disclosure, ctx context.Context) error { return d.entries(ctx, t.kinds) }
		}
		if err := list(d, ctx); err != nil {
			return err
		}
		d.w.WriteByte(']')
	}
	d.w.WriteString("}\n")
	return d.w.Flush()
}

// exported appends the event of an export that has keys.
func (d *disclosure) exported(ctx context.Context) error {
	if d.Caller.MaskKeys || len(d.licenses) == 0 {
		return nil
	}
	data := api.EventData{Export: &api.EventExport{Format: "json", Rows: len(d.licenses), Filter: api.ExportFilter{CustomerID: d.customerID}}}
	return d.Write(ctx, func(tx *call.Tx) error {
		return d.AppendOther(ctx, tx, store.Event{Type: api.EventLicensesExported, CustomerID: d.customerID, Data: record.Encode(data)})
	})
}

// put adds a value to the current list.
func (d *disclosure) put(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if !d.first {
		d.w.WriteByte(',')
	}
	d.first = false
	d.w.WriteByte('\n')
	_, err = d.w.Write(text)
	return err
}

// eachLicense calls do for the licenses of the customer.
func (d *disclosure) eachLicense(ctx context.Context, do func(store.License) error) error {
	q := store.LicenseQuery{CustomerID: d.customerID, Limit: call.MaxLimit}
	for {
		rows, err := d.Reader().Licenses(ctx, q)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := do(row); err != nil {
				return err
			}
			q.After.ID = row.ID
		}
		if len(rows) < q.Limit {
			return nil
		}
	}
}

func (d *disclosure) putLicenses(ctx context.Context) error {
	return d.eachLicense(ctx, func(row store.License) error {
		rec, err := licenses.Read(row, d.Now())
		if err != nil {
			return err
		}
		l, err := licenses.FromRecord(rec, d.Now())
		if err != nil {
			return err
		}
		return d.put(d.Shown(l))
	})
}

func (d *disclosure) putActivations(ctx context.Context) error {
	for _, id := range d.licenses {
		q := store.ActivationQuery{LicenseID: id, Limit: store.MaxLimit}
		for {
			rows, err := d.Reader().Activations(ctx, q)
			if err != nil {
				return err
			}
			for _, row := range rows {
				rec, err := record.ReadActivation(row)
				if err != nil {
					return err
				}
				a, err := seats.ActivationAt(rec, d.Now())
				if err != nil {
					return err
				}
				if err := d.put(a); err != nil {
					return err
				}
				q.After = row.ID
			}
			if len(rows) < q.Limit {
				break
			}
		}
	}
	return nil
}

// putEvents writes the events about the customer. If one of them is the correction of the
// ID, the events of that license under the ID before follow, as they do in an erasure. Those
// before a claim can be about another person.
func (d *disclosure) putEvents(ctx context.Context) error {
	todo := []store.EventQuery{{CustomerID: d.customerID}}
	seen := map[store.EventQuery]bool{}
	for i := 0; i < len(todo); i++ {
		q := todo[i]
		for more := true; more; {
			events, err := d.Reader().Events(ctx, q)
			if err != nil {
				return err
			}
			for _, e := range events {
				if err := d.put(feed.NewEvent(e)); err != nil {
					return err
				}
				from := movedFrom(e)
				before := store.EventQuery{Subject: e.Subject, CustomerID: from}
				if e.Type == api.EventLicenseUpdated && from != "" && from != d.customerID && !seen[before] {
					seen[before] = true
					todo = append(todo, before)
				}
				q.After = e.Seq
			}
			more = len(events) > 0
		}
	}
	return nil
}

// A storedEntry is an entry of the store in an export.
type storedEntry struct {
	Kind      string          `json:"kind"`
	Key       string          `json:"key"`
	Data      json.RawMessage `json:"data,omitempty"` // as stored
	CreatedAt time.Time       `json:"created_at,omitzero"`
	ExpiresAt *time.Time      `json:"expires_at,omitempty"`
}

func (d *disclosure) putEntry(e store.Entry) error {
	return d.put(storedEntry{Kind: e.Kind, Key: e.Key, Data: e.Data, CreatedAt: e.CreatedAt, ExpiresAt: record.OptionalTime(e.ExpiresAt)})
}

// entries writes the entries of some kinds that are about the customer or a license of the
// customer: the key of such an entry begins with the ID of the license or the digest of
// that of the customer, or its owner is the license.
func (d *disclosure) entries(ctx context.Context, kinds []string) error {
	for _, kind := range kinds {
		queries := []store.EntryQuery{begins(kind, call.Digest(d.customerID))}
		for _, id := range d.licenses {
			queries = append(queries, begins(kind, id), store.EntryQuery{Kind: kind, Order: store.ByExpiry, Owner: id})
		}
		for _, q := range queries {
			for e, err := range entries.All(ctx, d.Reader(), q) {
				if err == nil {
					err = d.putEntry(e)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func begins(kind, id string) store.EntryQuery {
	return store.EntryQuery{Kind: kind, From: id, Before: store.PrefixEnd(id)}
}

// putPurchases writes the purchases of the customer and of the customer's licenses.
func (d *disclosure) putPurchases(ctx context.Context) error {
	queries := []store.EntryQuery{begins(purchases.PurchaseOfCustomerKind, call.Digest(d.customerID))}
	for _, id := range d.licenses {
		queries = append(queries, begins(purchases.PurchaseOfLicenseKind, id))
	}
	written := map[string]bool{}
	for _, q := range queries {
		for link, err := range entries.All(ctx, d.Reader(), q) {
			if err != nil {
				return err
			}
			key := link.Key[strings.LastIndexByte(link.Key, '/')+1:]
			if written[key] {
				continue
			}
			written[key] = true
			found, err := d.Reader().Entries(ctx, store.EntryQuery{Kind: purchases.PurchaseKind, Keys: []string{key}})
			if err != nil {
				return err
			}
			for _, e := range found {
				var p purchases.Purchase
				if err := call.Decode(e.Data, &p); err != nil {
					return err
				}
				if !p.IsOwn() && p.CustomerID != d.customerID {
					continue
				}
				if err := d.putEntry(e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
