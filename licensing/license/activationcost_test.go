package license_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A cost is how many calls of a store were made.
type cost struct{ reads, writes, updates, views int }

// A costStore counts the calls of activations and of changes of licenses.
type costStore struct {
	costReader
	st store.Store
}

func newCostStore() costStore {
	st := memory.New()
	return costStore{costReader{st, &cost{}}, st}
}

func (c costStore) View(ctx context.Context, fn func(store.Reader) error) error {
	c.views++
	return c.st.View(ctx, func(r store.Reader) error { return fn(costReader{r, c.cost}) })
}

func (c costStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	c.updates++
	return c.st.Update(ctx, func(tx store.Tx) error { return fn(costTx{tx, costReader{tx, c.cost}}) })
}

// of returns the calls that do makes.
func (c costStore) of(t *testing.T, do func() error) cost {
	t.Helper()
	*c.cost = cost{}
	if err := do(); err != nil {
		t.Fatal(err)
	}
	return *c.cost
}

type costReader struct {
	store.Reader
	*cost
}

func (r costReader) License(ctx context.Context, id string) (store.License, error) {
	r.reads++
	return r.Reader.License(ctx, id)
}

func (r costReader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	r.reads++
	return r.Reader.LicenseByKey(ctx, key)
}

func (r costReader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	r.reads++
	return r.Reader.Licenses(ctx, q)
}

func (r costReader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	r.reads++
	return r.Reader.Activation(ctx, licenseID, fingerprint)
}

func (r costReader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	r.reads++
	return r.Reader.Activations(ctx, q)
}

func (r costReader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	r.reads++
	return r.Reader.Entry(ctx, kind, key)
}

func (r costReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	r.reads++
	return r.Reader.Entries(ctx, q)
}

type costTx struct {
	store.Tx
	costReader
}

func (t costTx) License(ctx context.Context, id string) (store.License, error) {
	return t.costReader.License(ctx, id)
}

func (t costTx) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	return t.costReader.LicenseByKey(ctx, key)
}

func (t costTx) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return t.costReader.Licenses(ctx, q)
}

func (t costTx) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	return t.costReader.Activation(ctx, licenseID, fingerprint)
}

func (t costTx) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	return t.costReader.Activations(ctx, q)
}

func (t costTx) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	return t.costReader.Entry(ctx, kind, key)
}

func (t costTx) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return t.costReader.Entries(ctx, q)
}

func (t costTx) UpdateLicense(ctx context.Context, l store.License) error {
	t.writes++
	return t.Tx.UpdateLicense(ctx, l)
}

func (t costTx) PutActivations(ctx context.Context, activations ...store.Activation) error {
	t.writes++
	return t.Tx.PutActivations(ctx, activations...)
}

func (t costTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	t.writes++
	return t.Tx.PutEntries(ctx, entries...)
}

func (t costTx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	t.writes++
	return t.Tx.DeleteEntries(ctx, kind, keys...)
}

func (t costTx) AppendEvents(ctx context.Context, events ...store.Event) error {
	t.writes++
	return t.Tx.AppendEvents(ctx, events...)
}

// TestStoreCallsOfAnActivation says how many calls of the store each kind of activation
// makes. One that has nothing to store takes no write lock.
func TestStoreCallsOfAnActivation(t *testing.T) {
	is := is.New(t)
	st := newCostStore()
	s := newSeller(t, st)
	_, err := selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{
		ID: "boxed", ProductID: "prod_editor", Duration: api.Duration{Days: 10}, Starts: api.StartsActivation, Terms: api.Terms{MaxActivations: ptr[int64](2)},
	})
	is.NoErr(err)
	boxed := s.tell(t, "shop:1", boughtPlan("boxed", 0)).License
	plain := s.createFor(t, "cus_1")
	activate := func(key string, p api.ActivateKeyParams) cost {
		t.Helper()
		p.Key = key
		return st.of(t, func() error {
			_, err := s.Activate(t.Context(), p)
			return err
		})
	}
	again := api.ActivateKeyParams{Fingerprint: "a", Name: "Desk", Metadata: map[string]string{"os": "linux"}}
	is.Equal(activate(plain.Key, again), cost{6, 3, 1, 0})                                                 // new
	is.Equal(activate(plain.Key, api.ActivateKeyParams{Fingerprint: "b", File: days14}), cost{5, 5, 1, 0}) // with a file
	is.Equal(activate(boxed.Key, api.ActivateKeyParams{Fingerprint: "a"}), cost{9, 6, 1, 0})               // starts the license

	validation := st.of(t, func() error {
		_, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: plain.Key, Fingerprint: "a"})
		return err
	})
	is.Equal(validation, cost{reads: 2, views: 1})
	is.Equal(activate(plain.Key, again), cost{reads: 3}) // the license twice, on no snapshot

	s.now = s.now.Add(25 * time.Hour) // it was not seen today
	is.Equal(activate(plain.Key, again).updates, 1)
	is.Equal(activate(plain.Key, again).updates, 0)
	again.Metadata["os"] = "plan9"
	is.Equal(activate(plain.Key, again).updates, 1)
	is.Equal(activate(plain.Key, again).updates, 0)

	*st.cost = cost{}
	_, err = s.Activate(t.Context(), api.ActivateKeyParams{Key: "X", Fingerprint: "a"})
	is.True(err != nil)
	is.Equal(*st.cost, cost{1, 0, 0, 0}) // of an unknown key
}

// TestCostOfKeys: a key that is typed as stored takes one look-up, and no allocation but the
// canonical form of a generated one; another form of it, and a text that could be a key of
// another system, take up to three more, on one snapshot.
func TestCostOfKeys(t *testing.T) {
	is := is.New(t)
	st := newCostStore()
	s := license.New(st, license.Options{})
	own, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada"})
	is.NoErr(err)
	const key = "38b1460a-5104-4067-a91d-77b872934d51"
	_, err = s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", Key: key})
	is.NoErr(err)
	for typed, reads := range map[string]int{
		own.Key: 1, strings.ToLower(own.Key): 1, license.NewKey(): 1, "x": 1, "ünvisible-ÄSCII-only": 1,
		key: 1, " " + key + "\n": 1, "<" + key + ">": 2, "<" + strings.ToUpper(key) + ">": 3, strings.ToUpper(key): 2,
		"Abcdef-Ghijkl-Mnopqr": 3, "<Abcdef-Ghijkl-Mnopqr>": 4,
	} {
		validation := st.of(t, func() error {
			_, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: typed})
			return err
		})
		is.Equal(validation, cost{reads: reads, views: min(reads-1, 1)}) // typed
		activation := st.of(t, func() error {
			_, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: typed, Fingerprint: "a", ProductID: "another"})
			is.True(err != nil)
			return nil
		})
		is.Equal(activation, cost{reads: reads, views: min(reads-1, 1)}) // typed
	}
	is.Equal(testing.AllocsPerRun(100, func() { call.CanonicalKey(own.Key) }), 1.0)
	is.Equal(testing.AllocsPerRun(100, func() { call.CanonicalKey(key) }), 0.0)
}

// TestStoreCallsOfAPatchOfTexts: a PATCH of name and metadata reads no purchase.
func TestStoreCallsOfAPatchOfTexts(t *testing.T) {
	is := is.New(t)
	st := newCostStore()
	s := newSeller(t, st)
	id := s.tell(t, "shop:base", boughtPlan("forever", 0)).License.ID
	for n := range 99 {
		e := boughtPlan("extra", 0)
		e.LicenseID = id
		s.tell(t, fmt.Sprint("shop:", n), e)
	}
	plain := s.createFor(t, "cus_1")
	patch := func(id, name string) cost {
		t.Helper()
		return st.of(t, func() error {
			_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Name: &name, Metadata: api.To(map[string]*string{"note": &name})})
			return err
		})
	}
	is.Equal(patch(id, "Ada"), patch(plain.ID, "Ada"))
	is.Equal(s.mustGet(t, id).Name, "Ada")
	is.Equal(s.mustGet(t, id).Metadata, map[string]string{"note": "Ada"})
}

// TestTextsSetByHandGiveWay: also where the purchases said the same when they were set.
func TestTextsSetByHandGiveWay(t *testing.T) {
	is := is.New(t)
	s := newSeller(t, memory.New())
	said := func(day float64, name, note string) {
		e := boughtPlan("forever", day)
		e.Name, e.Metadata = name, map[string]*string{"note": &note}
		s.tell(t, "shop:1", e)
	}
	said(0, "Ada", "first")
	id := s.tell(t, "shop:1", boughtPlan("forever", 0)).License.ID
	_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Name: ptr("Grace"), Metadata: api.To(map[string]*string{"note": ptr("by hand"), "desk": ptr("4")})})
	is.NoErr(err)
	said(1, "Ada", "first")
	is.Equal(s.mustGet(t, id).Name, "Grace") // the purchase says what it said
	_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Name: ptr("Ada"), Metadata: api.To(map[string]*string{"note": ptr("first")})})
	is.NoErr(err)
	said(2, "Lin", "second")
	is.Equal(s.mustGet(t, id).Name, "Lin")
	is.Equal(s.mustGet(t, id).Metadata, map[string]string{"note": "second", "desk": "4"})
	_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Metadata: api.To(map[string]*string{"note": nil, "desk": nil})})
	is.NoErr(err)
	said(3, "Lin", "second")
	is.Equal(len(s.mustGet(t, id).Metadata), 0) // removed by hand
}
