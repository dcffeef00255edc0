package license_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A rowStore counts the activations that calls read.
type rowStore struct {
	store.Store
	rows int
}

type rowReader struct {
	store.Reader
	s *rowStore
}

type rowTx struct {
	store.Tx
	rowReader rowReader
}

func (t rowTx) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	return t.rowReader.Activations(ctx, q)
}

func (s *rowStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error { return fn(rowReader{r, s}) })
}

func (s *rowStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(rowTx{tx, rowReader{tx, s}}) })
}

func (r rowReader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	rows, err := r.Reader.Activations(ctx, q)
	r.s.rows += len(rows)
	return rows, err
}

// TestAdmissionReadsFewActivations, whether the license has few or many, and
// whether it admits, refuses, evicts or only answers.
func TestAdmissionReadsFewActivations(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	const n = 300
	l := f.create(t, seats(n, 600))
	for i := range n - 1 {
		f.activate(t, l.Key, fmt.Sprint("pc-", i))
	}
	rows := &rowStore{Store: f.store}
	s := license.New(rows, license.Options{Now: func() time.Time { return f.now }})
	activate := func(fingerprint, takeOver string) error {
		_, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint, TakeOver: takeOver})
		return err
	}
	is.NoErr(activate("last", ""))
	require.ErrorIs(t, activate("none left", ""), api.ErrActivationLimit)
	is.NoErr(activate("newcomer", api.TakeOverOldest))
	v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "stranger"})
	is.NoErr(err)
	is.Equal(codes(v.Verdict), []api.VerdictCode{api.VerdictNotActivated, api.VerdictActivationLimit})

	f.now = f.now.Add(time.Hour) // all leases have ended
	v, err = s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "stranger"})
	is.NoErr(err)
	is.Equal(codes(v.Verdict), []api.VerdictCode{api.VerdictNotActivated})
	is.NoErr(activate("after the leases", ""))
	require.Less(t, rows.rows, 10)
}

// TestMissingCountOfSeats: a store that an import has filled has no counts, and a
// missing count is not a count of zero.
func TestMissingCountOfSeats(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(3, 0))
	for i := range 3 {
		f.activate(t, l.Key, fmt.Sprint("pc-", i))
	}
	lose := func() {
		is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteEntries(t.Context(), "seats", l.ID) }))
	}
	lose()
	is.Equal(codes(f.validate(t, l.Key, "new")), []api.VerdictCode{api.VerdictNotActivated, api.VerdictActivationLimit})
	_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "new"})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	_, err = f.store.Entry(t.Context(), "seats", l.ID)
	is.NoErr(err) // the refusal has stored the count

	lose()
	_, err = f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "pc-0"})
	is.NoErr(err)
	lose()
	f.activate(t, l.Key, "new")
	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "newer"})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	is.Equal(f.live(t, l.ID), 3)

	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	_, err = f.store.Entry(t.Context(), "seats", l.ID)
	require.ErrorIs(t, err, store.ErrNotFound) // so that an import of the id does not find it
}

// A changingStore undoes the first attempt of each Update and calls between before
// the second.
type changingStore struct {
	store.Store
	between func()
}

func (s changingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	undo := errors.New("undo")
	err := s.Store.Update(ctx, func(tx store.Tx) error { return errors.Join(fn(tx), undo) })
	if !errors.Is(err, undo) {
		return err
	}
	s.between()
	return s.Store.Update(ctx, fn)
}

// TestASeatThatIsFreedBeforeARetry: an attempt that found the license full, and was
// undone, refuses nothing.
func TestASeatThatIsFreedBeforeARetry(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 0))
	f.activate(t, l.Key, "old")
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteEntries(t.Context(), "seats", l.ID) }))
	s := license.New(changingStore{f.store, func() { is.NoErr(f.release(t, l.Key, "old")) }}, license.Options{})
	_, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "new"})
	is.NoErr(err)
}

// TestNoCountWithoutActivations: deleting a license without activations looks for
// no count.
func TestNoCountWithoutActivations(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	none, one := int64(0), int64(1)
	l := f.create(t, seats(0, 60), func(p *api.CreateLicenseParams) { p.MaxActivations = &none })
	_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc"})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	_, err = f.store.Entry(t.Context(), "seats", l.ID)
	require.ErrorIs(t, err, store.ErrNotFound)

	_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(one)})
	is.NoErr(err)
	f.activate(t, l.Key, "pc")
	f.now = f.now.Add(90 * 24 * time.Hour)
	for i := range 50 { // each removes some activations that ended long ago
		f.activate(t, l.Key, fmt.Sprint("pc-", i))
		f.now = f.now.Add(40 * 24 * time.Hour)
	}
	rows, err := f.store.Activations(t.Context(), store.ActivationQuery{LicenseID: l.ID})
	is.NoErr(err)
	require.Greater(t, len(rows), 0)
	require.Less(t, len(rows), 50)
	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	_, err = f.store.Entry(t.Context(), "seats", l.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
}

// TestManySeatsAreCounted has more than one page of activations without a count.
func TestManySeatsAreCounted(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.HoldOffline = true })
	l := f.create(t)
	f.activateFile(t, l.Key, "spent")
	is.NoErr(f.release(t, l.Key, "spent"))
	f.limit(t, l.ID, 6)
	var rows []store.Activation
	for i := range 1150 {
		a := store.Activation{LicenseID: l.ID, ID: store.NewID("act", start), Fingerprint: fmt.Sprint("pc-", i), Document: []byte("{}")}
		if i >= 5 {
			a.LeaseEndsAt = start
		}
		rows = append(rows, a)
	}
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		return errors.Join(tx.DeleteEntries(t.Context(), "seats", l.ID), tx.PutActivations(t.Context(), rows...))
	}))
	is.Equal(codes(f.validate(t, l.Key, "new")), []api.VerdictCode{api.VerdictNotActivated, api.VerdictActivationLimit}) // with the spent seat
	f.limit(t, l.ID, 7)
	is.Equal(codes(f.validate(t, l.Key, "new")), []api.VerdictCode{api.VerdictNotActivated}) // and a seat is free
	f.activate(t, l.Key, "new")
	is.Equal(f.live(t, l.ID), 6)
	_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "newer"})
	require.ErrorIs(t, err, api.ErrActivationLimit)
}

// TestLoweredLimitIsExactAfterLeases: many leases more than one Update ends have
// to end before a seat is free, and not one more or less.
func TestLoweredLimitIsExactAfterLeases(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(300, 600))
	for i := range 250 {
		f.activate(t, l.Key, fmt.Sprint("old-", i))
	}
	f.now = f.now.Add(5 * time.Minute)
	for i := range 10 {
		f.activate(t, l.Key, fmt.Sprint("late-", i))
	}
	limit := func(n int64) {
		_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(n)})
		is.NoErr(err)
	}
	full := func() bool {
		stranger := len(codes(f.validate(t, l.Key, "stranger"))) == 2
		_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "new"})
		is.Equal(err != nil, stranger) // both say the same
		return errors.Is(err, api.ErrActivationLimit)
	}
	limit(10)
	is.True(full()) // of 260
	f.now = f.now.Add(5 * time.Minute)
	is.True(full()) // of the 10 whose leases have not ended
	limit(11)
	is.True(!full())
	is.Equal(f.live(t, l.ID), 11)
	_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "newer"})
	require.ErrorIs(t, err, api.ErrActivationLimit)

	old, err := f.store.Activation(t.Context(), l.ID, "old-0")
	is.NoErr(err)
	v := f.validate(t, l.Key, "old-0") // which an admission has ended
	is.Equal(v.Activation.Status, api.ActivationLeaseEnded)
	is.True(!old.EndedAt.IsZero())
	is.Equal(v.Activation.EndedAt, nil) // it was not released or evicted
}

// TestReturnAfterALoweredLimit: a fingerprint whose lease has ended too gets the seat
// of another.
func TestReturnAfterALoweredLimit(t *testing.T) {
	f := newFixture(t)
	l := f.create(t, seats(3, 600))
	for i := range 3 {
		f.activate(t, l.Key, fmt.Sprint("pc-", i))
	}
	f.limit(t, l.ID, 1)
	f.now = f.now.Add(time.Hour)
	f.activate(t, l.Key, "pc-0")
}

// TestShortenedLeaseFreesSeats of programs that do not ask again, and of no
// program that rechecks on schedule.
func TestShortenedLeaseFreesSeats(t *testing.T) {
	for name, first := range map[string]int64{"set": 0, "shortened": 365 * 24 * 3600} {
		for _, by := range []string{"the update", "the admission"} {
			t.Run(name+", by "+by, func(t *testing.T) {
				is := is.New(t)
				f := newFixture(t)
				l := f.create(t, seats(250, first))
				for i := range 250 {
					f.activate(t, l.Key, fmt.Sprint("pc-", i))
				}
				recheck := f.validate(t, l.Key, "pc-0").RecheckAfter
				lease := api.UpdateLicenseParams{ID: l.ID, LeaseSeconds: api.To(int64(3600))}
				if by == "the admission" { // as when the process ends after the update
					is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
						row, err := tx.License(t.Context(), l.ID)
						is.NoErr(err)
						rec, err := record.ReadLicense(row)
						rec.LeaseSeconds = 3600
						return errors.Join(err, tx.UpdateLicense(t.Context(), rec.Row()))
					}))
					for range 3 {
						_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "new"})
						require.ErrorIs(t, err, api.ErrActivationLimit)
					}
				} else {
					_, err := f.Update(t.Context(), lease)
					is.NoErr(err)
				}
				f.now = f.now.Add(time.Duration(recheck) * time.Second)
				is.True(f.validate(t, l.Key, "pc-0").Valid) // it rechecked on schedule
				is.Equal(f.live(t, l.ID), 250)
				f.now = f.now.Add(time.Hour - time.Second)
				is.True(f.validate(t, l.Key, "pc-0").Valid)
				f.now = f.now.Add(time.Second)
				is.Equal(f.live(t, l.ID), 1)
				f.activate(t, l.Key, "new")
			})
		}
	}
}

// TestShortenedLeaseIsInterrupted after each Update: the lease is that of the license,
// no program has lost its seat, and Run does the rest.
func TestShortenedLeaseIsInterrupted(t *testing.T) {
	is := is.New(t)
	whole := false
	for updates := 1; !whole; updates++ {
		f := newFixture(t)
		l := f.create(t)
		rows := make([]store.Activation, 250)
		for i := range rows {
			rows[i] = store.Activation{LicenseID: l.ID, ID: store.NewID("act", start), Fingerprint: fmt.Sprint("pc-", i), Document: []byte("{}")}
		}
		is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return tx.PutActivations(t.Context(), rows...) }))
		left := func() (activations, entries int) {
			n, err := countActivations(t.Context(), f.store, store.ActivationQuery{LicenseID: l.ID, LeaseEnds: store.TimeRange{Before: time.Unix(0, 0), OrNone: true}})
			is.NoErr(err)
			named, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "long_leases"})
			is.NoErr(err)
			return n, len(named)
		}
		s := license.New(&haltingStore{Store: f.store, left: updates}, license.Options{Now: func() time.Time { return f.now }})
		changed, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, LeaseSeconds: api.To(int64(600))})
		is.NoErr(err)
		is.Equal(*changed.LeaseSeconds, int64(600))
		n, entries := left()
		is.Equal(n, max(0, 250-100*updates))
		is.Equal(f.live(t, l.ID), 250)
		whole = entries == 0
		is.Equal(whole, updates >= 3)
		for _, step := range inner.Of(f.Service).Background().Upkeep {
			for more := true; more; {
				more, err = step(t.Context())
				is.NoErr(err)
			}
		}
		n, entries = left()
		is.Equal([]int{n, entries}, []int{0, 0})
	}
}

// TestLongLeasesOfADeletedLicense: nothing is left of them.
func TestLongLeasesOfADeletedLicense(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		return tx.PutEntries(t.Context(), store.Entry{Kind: "long_leases", Key: "lic_deleted", ExpiresAt: start, CreatedAt: start})
	}))
	for _, step := range inner.Of(f.Service).Background().Upkeep {
		_, err := step(t.Context())
		is.NoErr(err)
	}
	named, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "long_leases"})
	is.NoErr(err)
	is.Equal(len(named), 0)
}

// TestShortenedLeaseOfAHeldSeat: a lease that is short enough stays unchanged, however
// long a license file holds the seat.
func TestShortenedLeaseOfAHeldSeat(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 3600))
	ends := *f.activateFile(t, l.Key, "pc").Activation.LeaseEndsAt
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, LeaseSeconds: api.To(int64(600))})
	is.NoErr(err)
	explained, err := f.Explain(t.Context(), api.ExplainLicenseParams{ID: l.ID, Fingerprint: "pc"})
	is.NoErr(err)
	is.Equal(*explained.Activation.LeaseEndsAt, ends)
}

func TestSeatCounts(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	none, two, leased := f.create(t), f.create(t, seats(5, 0)), f.create(t, seats(5, 600))
	f.activate(t, two.Key, "pc-1")
	gone := f.activate(t, two.Key, "pc-2")
	f.activate(t, two.Key, "pc-3")
	_, err := f.ReleaseActivation(t.Context(), api.ReleaseActivationParams{LicenseID: two.ID, ActivationID: gone.ID})
	is.NoErr(err)
	f.activate(t, leased.Key, "pc-1")
	f.now = f.now.Add(time.Hour) // the lease has ended
	ids := []string{none.ID, two.ID, leased.ID}

	counts, err := inner.Of(f.Service).Find().SeatCounts(t.Context(), ids)
	is.NoErr(err)
	is.Equal([]int{counts[none.ID].N, counts[two.ID].N, counts[leased.ID].N}, []int{0, 2, 1})
	o, _, err := inner.Of(f.Service).Find().Overview(t.Context())
	is.NoErr(err)
	is.Equal(o.Seats.ByProduct, map[string]int64{two.ProductID: 3})
	is.True(!o.Seats.AtLeast)
	counts, err = inner.Of(f.Service).Find().SeatCounts(t.Context(), nil)
	is.NoErr(err)
	is.Equal(len(counts), 0)
	_, err = inner.Of(f.As(license.Caller{Products: []string{}})).Find().SeatCounts(t.Context(), ids)
	require.ErrorIs(t, err, api.ErrProductForbidden)
	_, _, err = inner.Of(f.As(license.Caller{Products: []string{}})).Find().Overview(t.Context())
	require.ErrorIs(t, err, api.ErrProductForbidden)
}

// TestSeatUse adds up more counts than one read returns.
func TestSeatUse(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	const n = 1_050
	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
		for i := range n {
			l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Atlas", ProductID: []string{"atlas", "beacon"}[i%2], CustomerID: "ada"})
			if err != nil {
				return err
			}
			if _, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc"}); err != nil {
				return err
			}
		}
		return nil
	}))
	o, _, err := inner.Of(f.Service).Find().Overview(t.Context())
	is.NoErr(err)
	is.Equal(o.Seats.ByProduct, map[string]int64{"atlas": n / 2, "beacon": n / 2})
}

// TestSeatsAreCountedOnce although an activation whose lease ended long ago gives its seat
// to the same fingerprint, or to another one, and is deleted as old in the same Update.
func TestSeatsAreCountedOnce(t *testing.T) {
	for name, fingerprint := range map[string]string{"the same": "pc", "another": "pc-%d"} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t, seats(1, 3600))
			for i := range 30 {
				f.activate(t, l.Key, strings.Replace(fingerprint, "%d", strconv.Itoa(i), 1))
				counts, err := inner.Of(f.Service).Find().SeatCounts(t.Context(), []string{l.ID})
				is.NoErr(err)
				is.Equal(counts[l.ID].N, 1)
				f.now = f.now.Add(40 * 24 * time.Hour)
			}
		})
	}
}

// TestSeatCountsAfterMove reads a bounded number of activations of each license whose
// count is not stored, and says that there can be more.
func TestSeatCountsAfterMove(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	few, many := f.create(t, seats(5, 0)), f.create(t, seats(5_000, 0))
	f.activate(t, few.Key, "pc-1")
	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
		for i := range store.MaxLimit + 1 {
			if _, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: many.Key, Fingerprint: fmt.Sprint("pc-", i)}); err != nil {
				return err
			}
		}
		return nil
	}))
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteEntries(t.Context(), "seats", few.ID, many.ID) }))
	rows := &rowStore{Store: f.store}
	s := inner.Of(license.New(rows, license.Options{Now: func() time.Time { return f.now }}))
	counts, err := s.Find().SeatCounts(t.Context(), []string{few.ID, many.ID})
	is.NoErr(err)
	is.Equal(counts[few.ID].N, 1)
	is.True(!counts[few.ID].AtLeast)
	is.Equal(counts[many.ID].N, store.MaxLimit)
	is.True(counts[many.ID].AtLeast)
	o, _, err := s.Find().Overview(t.Context())
	is.NoErr(err)
	is.Equal(o.Seats.ByProduct, map[string]int64{few.ProductID: store.MaxLimit + 1})
	is.True(o.Seats.AtLeast)
}

// TestSeatUseAfterMove counts seats whose counts are not stored, for the sums and for
// the list of refused licenses.
func TestSeatUseAfterMove(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 0))
	f.activate(t, l.Key, "pc-1")
	_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-2"})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteEntries(t.Context(), "seats", l.ID) }))
	o, _, err := inner.Of(f.Service).Find().Overview(t.Context())
	is.NoErr(err)
	is.Equal(o.Seats.ByProduct, map[string]int64{l.ProductID: 1})
	groups, _, err := inner.Of(f.Service).Refused().RefusalGroups(t.Context(), 7)
	is.NoErr(err)
	is.Equal(groups[0].Open, 1)
}
