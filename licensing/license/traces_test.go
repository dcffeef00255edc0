package license_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/leave"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/licensing/metering"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A haltingStore fails all Updates after some.
type haltingStore struct {
	store.Store
	left   int    // Updates that do not fail
	before func() // called before each Update; nil: not
}

const unhalted = 1 << 30

func (st *haltingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if st.left--; st.left < 0 {
		return errHalted
	}
	if before := st.before; before != nil {
		st.before = nil
		defer func() { st.before = before }()
		before()
	}
	return st.Store.Update(ctx, fn)
}

// everything returns all that a store has, a record a line, in lower case.
func everything(t *testing.T, st store.Store) string {
	t.Helper()
	var all strings.Builder
	all.WriteString(archiveOf(t, st))
	for after, more := int64(0), true; more; { // the archive encodes their data
		events, err := st.Events(t.Context(), store.EventQuery{After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			after = e.Seq
			fmt.Fprintln(&all, e.Type, e.Subject, e.CustomerID, e.Actor, string(e.Data))
		}
		more = len(events) > 0
	}
	for q := (store.EntryQuery{}); ; { // the archive leaves out some
		entries, err := st.Entries(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return strings.ToLower(all.String())
		}
		for _, e := range entries {
			fmt.Fprintln(&all, e.Kind, e.Key, string(e.Data))
			q.AfterKind, q.After.ID = e.Kind, e.Key
		}
	}
}

// mentions returns the lines of everything that have one of some words.
func mentions(t *testing.T, st store.Store, words ...string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(everything(t, st)) {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

// ofPerson are the words by which a life names Zaphod.
var ofPerson = []string{"zaphod", "203.0.113.42"}

// live lets Zaphod, whose ID is corrected twice, have licenses that do everything a
// license can do, with the types of events that a customer causes. One of them goes to
// Trillian, and one comes from her. It returns these two.
func live(t *testing.T, st store.Store, s *seller) (gone, got api.License) {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	buy := func(reference, customer string) api.License {
		s.tell(t, reference, event{
			At: onDay(0), CustomerID: customer, PlanID: "basic", State: "active", Until: api.To(onDay(390)),
			Name: customer + " the First", Metadata: map[string]*string{"mail": ptr(customer + "@example.com")},
		})
		s.tell(t, reference, event{At: onDay(1), State: "paused", Reason: customer + " did not pay"})
		s.tell(t, reference, event{At: onDay(2), State: "active"})
		return *s.tell(t, reference, event{At: onDay(3), Quantity: ptr[int64](3), Until: api.To(onDay(400))}).License
	}
	use := func(l api.License, who string) {
		_, err := s.Update(ctx, api.UpdateLicenseParams{ID: l.ID, GraceSeconds: ptr[int64](864000), Meters: api.To(map[string]*api.MeterChange{"exports": {Limit: api.To[int64](10), Soft: ptr(true)}})})
		is.NoErr(err)
		_, err = metering.New(s.Service).CountUsage(ctx, api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{{Meter: "exports", ID: who + "-job", Total: 8}}})
		is.NoErr(err)
		ask := func(seats int64) error {
			request, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: seats, KeyHash: licensefile.KeyHash(l.Key), Meters: map[string]int64{"exports": 1}}, ed25519.NewKeyFromSeed(make([]byte, 32)))
			is.NoErr(err)
			_, err = s.IssueFile(ctx, api.IssueFileParams{LicenseID: l.ID, Request: request})
			return err
		}
		is.NoErr(ask(1))
		is.True(errors.Is(ask(100), api.ErrActivationLimit)) // counts, and gets no more seats
		at := s.Service.As(license.Caller{Address: map[string]string{"zaphod": "203.0.113.42"}[who]})
		for i := range 6 { // one more than there are seats
			p := api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint(who, "-pc-", i), Name: who, File: days14}
			if _, err := at.Activate(ctx, p); i < 5 {
				is.NoErr(err)
			}
		}
		_, err = s.Deactivate(ctx, api.DeactivateKeyParams{Key: l.Key, Fingerprint: who + "-pc-0"})
		is.NoErr(err)
		_, err = at.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: who + "-pc-8", TakeOver: api.TakeOverOldest})
		is.NoErr(err)
		_, err = s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: who + "-pc-9", TakeOver: api.TakeOverOldest})
		is.NoErr(err)
		_, err = at.Validate(ctx, api.ValidateKeyParams{Key: l.Key, ProductID: who + "-asked"})
		is.NoErr(err)
		_, err = s.VoidFiles(ctx, api.ChangeStateParams{ID: l.ID, Reason: who + " lost it"})
		is.NoErr(err)
		_, err = s.Rekey(ctx, api.RekeyLicenseParams{ID: l.ID, Reason: who + " lost it"})
		is.NoErr(err)
	}
	notify := func(now float64) {
		s.now = onDay(now)
		for more := true; more; {
			var err error
			more, err = s.GiveNotices(ctx)
			is.NoErr(err)
		}
	}
	notify(40)
	trial, err := selling.New(s.Service).StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "zaphod-typo", Subjects: []string{"mail:zaphod@example.com"}})
	is.NoErr(err)
	first := buy("shop:1", "zaphod-typo")
	for _, id := range []string{trial.License.ID, first.ID} {
		for _, to := range []string{"zaphod-2", "zaphod"} {
			_, err := s.Update(ctx, api.UpdateLicenseParams{ID: id, CustomerID: &to})
			is.NoErr(err)
		}
	}
	use(first, "zaphod")
	is.NoErr(selling.New(s.Service).AllowTrial(ctx, api.AllowTrialParams{LicenseID: trial.License.ID, Reason: "zaphod asked"}))
	_, err = selling.New(s.Service).StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "zaphod"})
	is.NoErr(err)
	pending := inner.Of(s.Service).Links()
	for _, name := range []string{"arthur", "zaphod"} { // the first one waits
		l, err := pending.Start(ctx, api.StartLinkParams{ProductID: trial.License.ProductID, Fingerprint: name + "-pc", Name: name}, "")
		is.NoErr(err)
		if name == "zaphod" {
			_, err = s.Customer("zaphod").ApproveLink(ctx, api.ApproveLinkParams{Code: l.Code, LicenseID: trial.License.ID})
			is.NoErr(err)
		}
	}
	gone = buy("shop:2", "zaphod")
	use(gone, "zaphod")
	s.tell(t, "shop:2:extra", event{At: onDay(3), CustomerID: "zaphod", PlanID: "extra", State: "active", Until: api.To(onDay(300)), LicenseID: gone.ID, Name: "Zaphod"})
	s.tell(t, "shop:2:other", event{At: onDay(3), CustomerID: "zaphod", PlanID: "other", State: "active", LicenseID: gone.ID}) // waits
	is.NoErr(s.StoreUsage(ctx))
	gone, err = s.Transfer(ctx, api.TransferLicenseParams{ID: gone.ID, CustomerID: "trillian", Reason: "zaphod gave it away"})
	is.NoErr(err)
	got = buy("shop:3", "trillian")
	use(got, "trillian")
	got, err = s.Transfer(ctx, api.TransferLicenseParams{ID: got.ID, CustomerID: "zaphod", Name: "Zaphod", Metadata: map[string]string{"mail": "zaphod@example.com"}})
	is.NoErr(err)
	use(got, "zaphod")
	s.tell(t, "shop:4", event{At: onDay(0), CustomerID: "zaphod", Name: "Zaphod", PlanID: "nothing", State: "active"}) // waits
	for _, l := range []api.License{first, got} {
		_, err = s.Suspend(ctx, api.ChangeStateParams{ID: l.ID, Reason: "zaphod is president"})
		is.NoErr(err)
		_, err = s.Reinstate(ctx, api.ChangeStateParams{ID: l.ID})
		is.NoErr(err)
	}
	_, err = s.Validate(ctx, api.ValidateKeyParams{Key: gone.Key, CustomerID: "zaphod"})
	is.NoErr(err)
	for _, change := range []func(context.Context, api.ChangeCustomerStateParams) (api.CustomerSuspension, error){s.SuspendCustomer, s.ReinstateCustomer, s.SuspendCustomer} {
		_, err = change(ctx, api.ChangeCustomerStateParams{CustomerID: "zaphod", Reason: "zaphod stole a ship"})
		is.NoErr(err)
	}
	first.Metadata = map[string]string{"email": "zaphod@example.com", "mail": "zaphod@example.com"} // either EmailKey
	is.NoErr(inner.Of(s.Service).Licenses().MailLink(ctx, first, func(context.Context, string) error { return nil }))
	_, err = inner.Of(s.Service).Licenses().ChangeEmail(ctx, "zaphod", "zaphod@example.com", "zaphod@new.example", "zaphod asked", func(context.Context, string, string) error { return nil })
	is.True(err == nil || errors.Is(err, api.ErrNotFound)) // with either EmailKey
	guest := buy("shop:8", "mail:zaphod@example.com")
	use(guest, "zaphod")
	_, err = s.Customer("zaphod").Claim(ctx, s.mustGet(t, guest.ID).Key)
	is.NoErr(err)
	revoked := buy("shop:5", "zaphod")
	_, err = s.Revoke(ctx, api.ChangeStateParams{ID: revoked.ID, Reason: "zaphod"})
	is.NoErr(err)
	is.NoErr(s.Delete(ctx, api.DeleteLicenseParams{ID: buy("shop:6", "zaphod").ID}))
	is.NoErr(s.StoreUsage(ctx))
	is.NoErr(s.ExportCustomer(ctx, io.Discard, "zaphod"))
	notify(395)
	notify(401)
	return gone, got
}

// TestErasureStopped: erasure may stop after any of its Updates. A repeated call
// finishes it, and then nothing stored names the customer. What is Trillian's stays.
func TestErasureStopped(t *testing.T) {
	for n := 0; ; n++ {
		is := is.New(t)
		st := &haltingStore{Store: memory.New(), left: unhalted}
		s := newSeller(t, st)
		gone, _ := live(t, st, s)
		before := s.mustGet(t, gone.ID)
		st.left = n
		_, err := s.EraseCustomer(t.Context(), "zaphod")
		st.left = unhalted
		finished := err == nil
		if !finished {
			is.True(errors.Is(err, errHalted))
			_, err = s.EraseCustomer(t.Context(), "zaphod")
			is.NoErr(err)
		}
		if left := mentions(t, st, ofPerson...); len(left) > 0 {
			t.Fatalf("stopped after %d Updates:\n%s", n, strings.Join(left, ""))
		}
		is.Equal(s.mustGet(t, gone.ID), before)
		f := s.tell(t, "shop:2", event{At: onDay(402), CustomerID: "zaphod", State: "active", Until: api.To(onDay(800))})
		is.Equal(f.Result, api.PurchaseResultTransferred)
		is.Equal(*s.mustGet(t, gone.ID).ExpiresAt, onDay(800))
		if finished {
			is.True(n > 5)
			return
		}
	}
}

// TestTraces: a kind of entry or a type of event that names a customer is in the list
// that deletion, transfer, correction and erasure go through. For a new one that names
// none, extend impersonal.
func TestTraces(t *testing.T) {
	impersonal := []string{
		"address_fill",
		"dead_letter", "lease", "license_deleted", "long_leases", "mail_link", "mail_session", "near", "plan", "purged", "revocation_list", "sales", "sales_counted", "sales_end", "sales_license", "signing_key", "subscriber_cursor", "usage", "watermark", "webhook", "webhook_cursor", "webhook_left",
		"client", "invite", "operator", "operator_email", "session", "setup", "sign_in", "token", "token_count", // of people who are not customers

		api.EventPlanCreated, api.EventPlanUpdated, api.EventPlanDeleted, api.EventCustomerErased,
	}
	kinds, types := leave.Traced()
	known := func(name string) bool {
		return slices.Contains(impersonal, name) || slices.Contains(kinds, name) || slices.Contains(types, name)
	}
	t.Run("declared", func(t *testing.T) {
		declaration := regexp.MustCompile(`(?m)^(?:const )?\s*\w*[kK]ind\w*\s+= "([a-z_]+)"`)
		for _, root := range []string{"..", "../../auth"} {
			err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
				if err != nil || strings.HasPrefix(path, "internal/http") || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
					return err
				}
				text, err := fs.ReadFile(os.DirFS(root), path)
				for _, found := range declaration.FindAllStringSubmatch(string(text), -1) {
					if !known(found[1]) {
						t.Errorf("%s: kind %q", path, found[1])
					}
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		for _, name := range api.EventTypes() {
			if family, _, _ := strings.Cut(name, "."); !known(name) && !slices.Contains([]string{"webhook", "signing_key", "client", "operator"}, family) {
				t.Errorf("event type %q", name)
			}
		}
	})
	t.Run("stored", func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		live(t, st, newSeller(t, st, func(o *license.Options) { o.EmailKey = "mail" }))
		seen := map[string]bool{}
		for q := (store.EntryQuery{}); ; {
			entries, err := st.Entries(t.Context(), q)
			is.NoErr(err)
			if len(entries) == 0 {
				break
			}
			for _, e := range entries {
				seen[e.Kind] = true
				q.AfterKind, q.After.ID = e.Kind, e.Key
				text := strings.ToLower(e.Key + string(e.Data))
				if !slices.Contains(kinds, e.Kind) && slices.ContainsFunc(ofPerson, func(word string) bool { return strings.Contains(text, word) }) {
					t.Errorf("entry %s %s: %s", e.Kind, e.Key, e.Data)
				}
			}
		}
		events, err := st.Events(t.Context(), store.EventQuery{})
		is.NoErr(err)
		for _, e := range events {
			seen[e.Type] = true
			text := strings.ToLower(e.CustomerID + string(e.Data))
			named := slices.ContainsFunc(ofPerson, func(word string) bool { return strings.Contains(text, word) })
			if named && !slices.Contains(types, e.Type) {
				t.Errorf("event %s: %s", e.Type, e.Data)
			}
		}
		for _, name := range slices.Concat(kinds, types) {
			if !seen[name] && name != "once" && name != "delivery" {
				t.Errorf("%s was not stored, so nothing is known of it", name)
			}
		}
	})
}
