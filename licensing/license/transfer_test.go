package license_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// TestTransferLeavesNothing: files are void, seats are free and the reason of a
// status is gone, because all of them were the former customer's.
func TestTransferLeavesNothing(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.MaxActivations = ptr[int64](1) })
	_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "former"})
	is.NoErr(err)
	_, err = f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: "The card of Ada was declined"})
	is.NoErr(err)
	moved, err := f.Transfer(t.Context(), api.TransferLicenseParams{ID: l.ID, CustomerID: "cus_next", KeepKey: true})
	is.NoErr(err)
	is.Equal(moved.Generation, l.Generation+1)
	is.Equal(moved.StatusReason, "")
	_, err = f.Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: moved.Key, Fingerprint: "next"})
	is.NoErr(err)
}

// TestTransferStopped: a transfer may stop after any of its Updates. Until it is
// finished the license is the former customer's and works, and each machine of before
// activates again. A repeated call finishes it. So does one with an Idempotency-Key.
func TestTransferStopped(t *testing.T) {
	const machines = 2*100 + 1 // three Updates
	once := func(f *fixture, p api.TransferLicenseParams) (l api.License, err error) {
		prepare, move := inner.Of(f.Service).TransferInParts(t.Context(), p)
		_, _, err = inner.Of(f.Service).OncePrepared(t.Context(), "key", "print", prepare, func(in *license.Service) (_ []byte, err error) {
			l, err = move(in)
			return []byte(l.ID), err
		})
		return l, err
	}
	plainly := func(f *fixture, p api.TransferLicenseParams) (api.License, error) { return f.Transfer(t.Context(), p) }
	for name, transfer := range map[string]func(*fixture, api.TransferLicenseParams) (api.License, error){"plain": plainly, "once": once} {
		for _, exact := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " exact ", exact), func(t *testing.T) {
				for n := 0; ; n++ {
					is := is.New(t)
					st := &haltingStore{Store: memory.New(), left: unhalted}
					f := &fixture{store: st, now: start}
					f.Service = license.New(st, license.Options{HoldOffline: exact, Now: func() time.Time { return f.now }})
					l := f.create(t, func(p *api.CreateLicenseParams) { p.MaxActivations = ptr[int64](machines) })
					is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
						for i := range machines {
							if _, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i), File: days14}); err != nil {
								return err
							}
						}
						return nil
					}))
					p := api.TransferLicenseParams{ID: l.ID, CustomerID: "cus_next", IfMatch: []api.Version{l.Version()}}
					st.left = n
					moved, err := transfer(f, p)
					st.left = unhalted
					if n == 3 {
						is.NoErr(err)
						is.Equal(moved.Revision, l.Revision+1)
						is.Equal(f.live(t, l.ID), 0)
						return
					}
					require.ErrorIs(t, err, errHalted)
					is.Equal(f.live(t, l.ID), machines-100*n)
					if exact {
						_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-new"})
						require.ErrorIs(t, err, api.ErrActivationLimit)
					}
					is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
						for i := range machines {
							v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)})
							if err != nil || v.Valid {
								continue
							}
							if _, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)}); err != nil {
								return fmt.Errorf("stopped after %d Updates: pc-%d: %w", n, i, err)
							}
						}
						return nil
					}))
					now, err := f.Get(t.Context(), l.ID)
					is.NoErr(err)
					is.Equal(now, l)
					moved, err = transfer(f, p)
					is.NoErr(err)
					is.Equal(moved.CustomerID, "cus_next")
				}
			})
		}
	}
}

// A sale is a license that Ada bought and then transferred to Bob, or will.
type sale struct {
	*seller
	st *haltingStore
	l  api.License // as Ada had it
}

// sell sells a license with one seat to Ada, who activates it and is refused a second
// machine.
func sell(t *testing.T, exact bool) *sale {
	t.Helper()
	s := &sale{st: &haltingStore{Store: storetest.Twice(memory.New()), left: unhalted}}
	s.seller = newSeller(t, s.st, func(o *license.Options) { o.HoldOffline = exact })
	s.l = *s.tell(t, "shop:1", event{
		At: onDay(0), CustomerID: "cus_ada", PlanID: "other", State: "active", Name: "Ada Lovelace", Metadata: map[string]*string{"mail": ptr("ada@example.com")},
	}).License
	return s
}

func (s *sale) transfer(t *testing.T, to string) api.License {
	t.Helper()
	l, err := s.Transfer(t.Context(), api.TransferLicenseParams{ID: s.l.ID, CustomerID: to, Name: to + "'s", KeepKey: true})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *sale) correct(t *testing.T, to string) api.License {
	t.Helper()
	l, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: s.l.ID, CustomerID: &to})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *sale) erase(t *testing.T, customer string) {
	t.Helper()
	if _, err := s.EraseCustomer(t.Context(), customer); err != nil {
		t.Fatal(err)
	}
}

// activate activates a fingerprint, with a file that holds its seat.
func (s *sale) activate(t *testing.T, fingerprint string) error {
	_, err := s.As(license.Caller{Address: "203.0.113.42"}).Activate(t.Context(), api.ActivateKeyParams{Key: s.l.Key, Fingerprint: fingerprint, File: days14})
	return err
}

func (s *sale) release(t *testing.T, fingerprint string) error {
	_, err := s.Deactivate(t.Context(), api.DeactivateKeyParams{Key: s.l.Key, Fingerprint: fingerprint})
	return err
}

// refusals returns how many refusals of the license are stored or wait in memory.
func (s *sale) refusals(t *testing.T) (n int64) {
	t.Helper()
	page, err := s.Refusals(t.Context(), api.ListRefusalsParams{ID: s.l.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Data {
		n += r.Count
	}
	return n
}

// nothing fails the test if a word is stored.
func (s *sale) nothing(t *testing.T, words ...string) {
	t.Helper()
	if lines := mentions(t, s.store, words...); len(lines) > 0 {
		t.Error(strings.Join(lines, ""))
	}
}

// TestDepartures: what transfers, corrections and erasures do with what is stored of a
// customer.
func TestDepartures(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *is.I, *sale){
		"a count that is not that of the activations does not end the process": func(t *testing.T, is *is.I, s *sale) {
			is.NoErr(s.store.Update(t.Context(), func(tx store.Tx) error {
				return tx.PutEntries(t.Context(), store.Entry{Kind: "seats", Key: s.l.ID, Data: []byte("1"), Move: store.Derived})
			}))
			_, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: s.l.Key, Fingerprint: "pc", TakeOver: api.TakeOverOldest})
			require.ErrorIs(t, err, api.ErrActivationLimit)
		},
		"only the first Update can refuse the version": func(t *testing.T, is *is.I, s *sale) {
			l, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: s.l.ID, MaxActivations: api.To[int64](150)})
			is.NoErr(err)
			for i := range 150 {
				is.NoErr(s.activate(t, fmt.Sprint("pc-", i)))
			}
			updates := 0
			s.st.before = func() {
				if updates++; updates == 2 {
					_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, GraceSeconds: ptr[int64](7)})
					is.NoErr(err)
				}
			}
			_, err = s.Transfer(t.Context(), api.TransferLicenseParams{ID: l.ID, CustomerID: "cus_bob", IfMatch: []api.Version{{Revision: 1}}})
			require.ErrorIs(t, err, api.ErrStale)
			updates = 0
			moved, err := s.Transfer(t.Context(), api.TransferLicenseParams{ID: l.ID, CustomerID: "cus_bob", IfMatch: []api.Version{l.Version()}})
			is.NoErr(err)
			is.Equal([]any{moved.CustomerID, moved.GraceSeconds}, []any{"cus_bob", int64(7)})
		},
		"spent seats do not count against the new customer": func(t *testing.T, is *is.I, s *sale) {
			for i := range 3 {
				is.NoErr(s.activate(t, fmt.Sprint("pc-", i)))
				is.NoErr(s.release(t, fmt.Sprint("pc-", i)))
			}
			s.transfer(t, "cus_bob")
			is.NoErr(s.activate(t, "bobs"))
			is.NoErr(s.release(t, "bobs"))
		},
		"refusals of the former customer leave, stored ones and those in memory": func(t *testing.T, is *is.I, s *sale) {
			is.NoErr(s.activate(t, "pc-1"))
			is.True(s.activate(t, "pc-secret") != nil)
			is.NoErr(s.StoreUsage(t.Context()))
			is.True(s.activate(t, "pc-secret") != nil)
			is.Equal(s.refusals(t), int64(2))
			s.transfer(t, "cus_bob")
			is.NoErr(s.activate(t, "bobs"))
			is.Equal(s.refusals(t), int64(0))
			is.NoErr(s.StoreUsage(t.Context()))
			is.Equal(s.refusals(t), int64(0))
			s.nothing(t, "pc-secret", "203.0.113.42")
			is.True(s.activate(t, "bobs-2") != nil)
			s.correct(t, "cus_bobby") // the same customer: they stay
			is.Equal(s.refusals(t), int64(1))
			is.NoErr(s.StoreUsage(t.Context()))
			is.Equal(s.refusals(t), int64(1))
		},
		"erasing the former customer blanks the transfer": func(t *testing.T, is *is.I, s *sale) {
			_, err := s.Transfer(t.Context(), api.TransferLicenseParams{ID: s.l.ID, CustomerID: "cus_bob", Reason: "Ada Lovelace asked"})
			is.NoErr(err)
			s.erase(t, "cus_ada")
			s.nothing(t, "cus_ada", "lovelace", "ada@example.com")
		},
		"erasing the new customer blanks the purchase": func(t *testing.T, is *is.I, s *sale) {
			s.transfer(t, "cus_bob")
			s.tell(t, "shop:1", event{At: onDay(1), CustomerID: "cus_bob", Name: "Bob Babbage", Metadata: map[string]*string{"mail": ptr("bob@example.com")}})
			s.tell(t, "shop:1", event{At: onDay(2), State: "paused", CustomerID: "cus_bob", Reason: "Babbage did not pay"})
			s.erase(t, "cus_bob")
			s.nothing(t, "cus_bob", "babbage", "bob@example.com")
			is.Equal(s.tell(t, "shop:1", event{At: onDay(3), CustomerID: "cus_ada"}).Result, api.PurchaseResultDeleted)
		},
		"a purchase keeps working after its payer was erased": func(t *testing.T, is *is.I, s *sale) {
			s.transfer(t, "cus_bob")
			s.erase(t, "cus_ada")
			for _, e := range []event{
				{At: onDay(1), CustomerID: "cus_ada", Until: api.To(onDay(500)), State: "active"},
				{At: onDay(2), CustomerID: "cus_ada", State: "paused"},
				{At: onDay(3), Quantity: ptr[int64](3), State: "active"},
			} {
				is.Equal(s.tell(t, "shop:1", e).Result, api.PurchaseResultTransferred)
			}
			l := s.mustGet(t, s.l.ID)
			is.Equal([]any{l.CustomerID, l.Status, *l.ExpiresAt, *l.MaxActivations}, []any{"cus_bob", api.LicenseActive, onDay(500), int64(3)})
		},
		"events of the former customer, or of none, say nothing of a person": func(t *testing.T, is *is.I, s *sale) {
			moved := s.transfer(t, "cus_bob")
			for _, customer := range []string{"cus_ada", ""} {
				f := s.tell(t, "shop:1", event{
					At: onDay(5), CustomerID: customer, State: "paused", Name: "Ada Byron", Reason: "Byron did not pay", Metadata: map[string]*string{"mail": ptr("byron@example.com")},
				})
				is.Equal([]any{f.Result, f.License == nil, f.CustomerID, len(f.Fields)}, []any{api.PurchaseResultTransferred, true, "", 0})
			}
			l := s.mustGet(t, s.l.ID)
			is.Equal([]any{l.Status, l.Name, l.StatusReason, len(l.Metadata)}, []any{api.LicenseSuspended, moved.Name, "", 0})
			s.nothing(t, "byron")
			f := s.tell(t, "shop:1", event{At: onDay(6), CustomerID: "cus_bob", State: "active", Name: "Bob"})
			is.Equal([]any{f.Result, f.License.Name, f.License.Status}, []any{api.PurchaseResultChanged, "Bob", api.LicenseActive})
			back := s.transfer(t, "cus_ada")
			f = s.tell(t, "shop:1", event{At: onDay(7), CustomerID: "cus_ada", Name: "Ada"})
			is.Equal([]any{f.Result, f.License.ID, f.License.Name}, []any{api.PurchaseResultChanged, back.ID, "Ada"})
			is.Equal(s.tell(t, "shop:1", event{At: onDay(8), CustomerID: "cus_bob"}).Result, api.PurchaseResultTransferred)
			_, err := selling.New(s.Service).RecordPurchase(t.Context(), event{Reference: "shop:1", At: onDay(9), CustomerID: "cus_eve"})
			require.ErrorIs(t, err, api.ErrReferenceTaken)
		},
		"the former customer does not get the license by its reference": func(t *testing.T, is *is.I, s *sale) {
			ensure := event{At: onDay(0), CustomerID: "ada", PlanID: "basic", State: "active"}
			s.l = *s.tell(t, "user:ada", ensure).License
			s.transfer(t, "cus_bob")
			is.Equal(s.tell(t, "user:ada", ensure).License, nil)
			is.True(s.tell(t, "user:ada:2", ensure).License.ID != s.l.ID)
		},
		"a key does not tell the reference": func(t *testing.T, is *is.I, s *sale) {
			v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: s.l.Key})
			is.NoErr(err)
			is.Equal([]any{v.License.Reference, v.License.PlanID}, []any{"", "other"})
			is.NoErr(s.activate(t, "pc-1"))
			_, err = s.Activate(t.Context(), api.ActivateKeyParams{Key: s.l.Key, Fingerprint: "pc-2"})
			var denied *api.DeniedError
			require.ErrorAs(t, err, &denied)
			is.Equal(denied.Verdict.License.Reference, "")
			page, err := s.Events(t.Context(), api.ListEventsParams{Subject: s.l.ID})
			is.NoErr(err)
			for _, e := range page.Data {
				data, err := e.Decode()
				is.NoErr(err)
				is.Equal(data.License.Reference, "shop:1")
			}
		},
		"a correction reaches the purchase and the events before": func(t *testing.T, is *is.I, s *sale) {
			other := s.tell(t, "shop:2", event{At: onDay(0), CustomerID: "cus_ada", PlanID: "basic", State: "active"})
			s.correct(t, "cus_grace")
			f := s.tell(t, "shop:1", event{At: onDay(1), CustomerID: "cus_ada", Name: "Grace Hopper"}) // the provider has the wrong ID
			is.Equal([]any{f.Result, f.License.CustomerID, f.License.Name}, []any{api.PurchaseResultChanged, "cus_grace", "Grace Hopper"})
			is.Equal(s.tell(t, "shop:1", event{At: onDay(1), CustomerID: "cus_grace"}).Result, api.PurchaseResultUnchanged)
			s.erase(t, "cus_grace")
			s.nothing(t, "cus_grace", "hopper", "lovelace", "ada@example.com")
			is.Equal(s.mustGet(t, other.LicenseID).CustomerID, "cus_ada") // it is somebody else's ID
			is.True(len(mentions(t, s.store, "cus_ada")) > 1)
		},
		"corrections of several licenses are all followed": func(t *testing.T, is *is.I, s *sale) {
			for i := range 3 {
				l := *s.tell(t, fmt.Sprint("shop:more", i), event{At: onDay(0), CustomerID: "cus_typo", PlanID: "basic", State: "active"}).License
				_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, CustomerID: ptr("cus_ada")})
				is.NoErr(err)
			}
			s.erase(t, "cus_ada")
			s.nothing(t, "cus_typo", "cus_ada")
		},
		"a correction binds the trial to the right ID": func(t *testing.T, is *is.I, s *sale) {
			trial := func(customer string) api.Trial {
				got, err := selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{PlanID: "trial", CustomerID: customer})
				is.NoErr(err)
				return got
			}
			s.l = trial("cus_typo").License
			s.correct(t, "cus_right")
			again := trial("cus_right")
			is.Equal([]any{again.Started, again.License.ID}, []any{false, s.l.ID})
			_, err := selling.New(s.Service).StartTrial(t.Context(), api.StartTrialParams{PlanID: "trial", CustomerID: "cus_typo"})
			require.ErrorIs(t, err, api.ErrTrialTaken)
			own := trial("cus_own")
			s.correct(t, "cus_own")
			is.Equal(trial("cus_own").License.ID, own.License.ID)
			is.NoErr(selling.New(s.Service).AllowTrial(t.Context(), api.AllowTrialParams{LicenseID: s.l.ID}))
			is.Equal(trial("cus_own").License.ID, own.License.ID)
			is.True(trial("cus_right").Started)
		},
		"a waiting purchase of a license that is transferred gets one of its own": func(t *testing.T, is *is.I, s *sale) {
			waits := event{At: onDay(1), CustomerID: "cus_ada", PlanID: "later", State: "active", LicenseID: s.l.ID}
			is.Equal(s.tell(t, "shop:2", waits).Result, api.PurchaseResultWaiting)
			is.Equal(s.tell(t, "shop:3", event{At: onDay(1), PlanID: "other", State: "active", LicenseID: s.l.ID}).Result, api.PurchaseResultWaiting)
			s.transfer(t, "cus_bob")
			f, err := selling.New(s.Service).GetPurchase(t.Context(), "shop:2")
			is.NoErr(err)
			is.Equal([]any{f.Result, f.License == nil}, []any{api.PurchaseResultWaiting, true})
			_, err = selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "later", ProductID: "prod_other"})
			is.NoErr(err)
			f = s.tell(t, "shop:2", waits)
			is.Equal([]any{f.Result, f.License.CustomerID}, []any{api.PurchaseResultCreated, "cus_ada"})
			is.Equal(s.tell(t, "shop:2", waits).License.ID, f.License.ID) // each event may name the license
			is.Equal(s.tell(t, "shop:3", event{At: onDay(2), LicenseID: s.l.ID}).Waiting, api.WaitingCustomer)
			is.Equal(s.tell(t, "shop:3", event{At: onDay(3), CustomerID: "cus_ada", LicenseID: s.l.ID}).Result, api.PurchaseResultCreated)
			is.Equal(s.mustGet(t, s.l.ID).CustomerID, "cus_bob")
			_, err = selling.New(s.Service).RecordPurchase(t.Context(), event{Reference: "shop:4", At: onDay(1), CustomerID: "cus_ada", PlanID: "other", State: "active", LicenseID: s.l.ID})
			require.ErrorIs(t, err, api.ErrReferenceTaken)
		},
		"a reference that was used again is not erased with its first customer": func(t *testing.T, is *is.I, s *sale) {
			s.tell(t, "shop:2", event{At: onDay(1), CustomerID: "cus_eve", PlanID: "nothing", State: "active"})
			s.now = s.now.Add(91 * day)
			f := s.tell(t, "shop:2", event{CustomerID: "cus_bob", PlanID: "other", State: "active"})
			is.Equal(f.Result, api.PurchaseResultCreated)
			s.erase(t, "cus_eve")
			is.Equal(s.tell(t, "shop:2", event{CustomerID: "cus_bob", Quantity: ptr[int64](2)}).Result, api.PurchaseResultChanged)
		},
		"a customer who was asked for is not stored with a refusal": func(t *testing.T, is *is.I, s *sale) {
			v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: s.l.Key, CustomerID: "cus_eve"})
			is.NoErr(err)
			is.Equal(v.Code, api.VerdictCustomerMismatch)
			is.NoErr(s.StoreUsage(t.Context()))
			is.Equal(s.refusals(t), int64(1))
			s.nothing(t, "cus_eve")
		},
		"a deletion after a transfer leaves no count": func(t *testing.T, is *is.I, s *sale) {
			is.NoErr(s.activate(t, "pc-1"))
			s.transfer(t, "cus_bob")
			is.NoErr(s.Delete(t.Context(), api.DeleteLicenseParams{ID: s.l.ID}))
			_, err := s.store.Entry(t.Context(), "seats", s.l.ID)
			require.ErrorIs(t, err, store.ErrNotFound)
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, is.New(t), sell(t, false)) })
	}
}

// TestTransferEndsMeanwhile: a transfer ends with an error if the license is revoked,
// deleted or given to somebody else between two of its Updates.
func TestTransferEndsMeanwhile(t *testing.T) {
	for name, test := range map[string]struct {
		want error
		do   func(*sale) error
	}{
		"transferred": {api.ErrStale, func(s *sale) error { s.transfer(t, "cus_eve"); return nil }},
		"corrected":   {api.ErrStale, func(s *sale) error { s.correct(t, "cus_eve"); return nil }},
		"deleted":     {api.ErrNotFound, func(s *sale) error { return s.Delete(t.Context(), api.DeleteLicenseParams{ID: s.l.ID}) }},
		"revoked": {api.ErrStateForbids, func(s *sale) error {
			_, err := s.Revoke(t.Context(), api.ChangeStateParams{ID: s.l.ID})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := sell(t, false)
			_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: s.l.ID, MaxActivations: api.ToNull[int64]()})
			is.NoErr(err)
			for i := range 150 {
				is.NoErr(s.activate(t, fmt.Sprint("pc-", i)))
			}
			updates := 0
			s.st.before = func() {
				if updates++; updates == 2 {
					is.NoErr(test.do(s))
				}
			}
			_, err = s.Transfer(t.Context(), api.TransferLicenseParams{ID: s.l.ID, CustomerID: "cus_bob"})
			require.ErrorIs(t, err, test.want)
			l, err := s.Get(t.Context(), s.l.ID)
			is.True(l.CustomerID != "cus_bob" && (err != nil) == (name == "deleted"))
		})
	}
}

// TestHoldOfflineIsExactAfterATransfer: one seat has one file, whoever has the license.
// The machine that holds the file takes its seat again.
func TestHoldOfflineIsExactAfterATransfer(t *testing.T) {
	is := is.New(t)
	s := sell(t, true)
	is.NoErr(s.activate(t, "pc-1"))
	s.transfer(t, "cus_bob")
	require.ErrorIs(t, s.activate(t, "pc-2"), api.ErrActivationLimit)
	v, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: s.l.Key, Fingerprint: "pc-1"})
	is.NoErr(err)
	is.True(v.Activation.HeldUntil != nil) // it may still run from the file of before
	require.ErrorIs(t, s.release(t, "pc-1"), api.ErrSeatHeld)
	require.ErrorIs(t, s.activate(t, "pc-2"), api.ErrActivationLimit)
	s.transfer(t, "cus_eve")
	s.now = s.now.Add(15 * day)
	is.NoErr(s.activate(t, "pc-2"))
}
