package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// fill writes n licenses to st and removes the 100 oldest events, so that its feed
// does not begin at 1.
func fill(t *testing.T, st store.Store, n int) {
	t.Helper()
	ctx := t.Context()
	at := func(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, 0, n*1e6, time.UTC) }
	err := st.Update(ctx, func(tx store.Tx) error {
		var errs []error
		try := func(err error) { errs = append(errs, err) }
		for i := range n {
			l := store.License{ID: fmt.Sprintf("lic_%04d", i), Key: fmt.Sprint("key ", i), Text: fmt.Sprint("ünïcode ", i), Document: []byte(`{"name":"<Ünïcode>"}`)}
			if i%2 == 0 {
				l.ProductID, l.CustomerID, l.State = "p", "<Ünïcode>\u2028", store.StateRevoked
				l.StartsAt, l.ExpiresAt, l.Document = at(2), at(3), []byte("\x00\xff")
			}
			try(tx.CreateLicenses(ctx, l))
			err := tx.AppendEvents(ctx, store.Event{ID: fmt.Sprint("evt ", i), Type: "t", Time: at(i), Actor: "a", RequestID: "r", Subject: l.ID, ProductID: "p", CustomerID: "c", Data: []byte(`{"n":1}`)})
			try(err)
		}
		for i := range 3 {
			try(tx.PutActivations(ctx, store.Activation{LicenseID: "lic_0000", ID: fmt.Sprint("act ", i), Fingerprint: fmt.Sprint("f ", i), LeaseEndsAt: at(1), EndedAt: at(2), Document: []byte("{}")}))
			try(tx.PutEntries(ctx, store.Entry{Kind: "client", Key: fmt.Sprint("cid ", i), Owner: "o", Data: []byte("\x00\xff"), ExpiresAt: at(i), CreatedAt: at(1)}))
		}
		try(tx.PutEntries(ctx, store.Entry{Kind: "token", Key: "short-lived", Move: store.Passing}))
		_, err := tx.DeleteEvents(ctx, 100, 100)
		try(err)
		for _, seq := range []int64{0, 50, 100, 101, 1200, 9000} {
			try(tx.PutEntries(ctx, store.Entry{Kind: "cursor", Key: fmt.Sprint("cursor ", seq), Data: fmt.Append(nil, seq)}))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func export(t *testing.T, st store.Store) string {
	t.Helper()
	var out bytes.Buffer
	err := st.View(t.Context(), func(r store.Reader) error { return store.Export(t.Context(), r, &out) })
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestArchiveRoundTrip(t *testing.T) {
	is := is.New(t)
	from := memory.New()
	fill(t, from, 1200) // more than a page and a batch
	archive := export(t, from)
	is.Equal(strings.Count(archive, "\n"), 1+1200+3+1100+3+6+1)

	to := memory.New()
	is.NoErr(store.Import(t.Context(), storetest.Twice(to), strings.NewReader(archive)))
	is.Equal(export(t, to), archive) // byte for byte

	events, err := to.Events(t.Context(), store.EventQuery{Limit: 1})
	is.NoErr(err)
	is.Equal(events[0].Seq, int64(101)) // as in the other store
	is.NoErr(to.Update(t.Context(), func(tx store.Tx) error {
		return tx.AppendEvents(t.Context(), store.Event{ID: "next"})
	}))
	events, err = to.Events(t.Context(), store.EventQuery{After: 1200})
	is.NoErr(err)
	is.Equal(len(events), 1)
	is.Equal(events[0].Seq, int64(1201))
	_, err = to.Entry(t.Context(), "token", "short-lived")
	require.ErrorIs(t, err, store.ErrNotFound)
	for _, id := range []string{"lic_0000", "lic_0001"} {
		want, err := from.License(t.Context(), id)
		is.NoErr(err)
		got, err := to.License(t.Context(), id)
		is.NoErr(err)
		is.Equal(got, want)
	}
}

// TestImportIntoAStoreThatHeldEvents: the store does not reuse Seqs, so the events
// of the archive cannot keep theirs.
func TestImportIntoAStoreThatHeldEvents(t *testing.T) {
	is := is.New(t)
	from, to := memory.New(), memory.New()
	for st, n := range map[store.Store]int64{from: 1, to: 5} {
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			for range n {
				if err := tx.AppendEvents(t.Context(), store.Event{ID: "evt"}); err != nil {
					return err
				}
			}
			if st == from {
				return nil
			}
			_, err := tx.DeleteEvents(t.Context(), n, int(n))
			return err
		}))
	}
	require.ErrorIs(t, store.Import(t.Context(), to, strings.NewReader(export(t, from))), store.ErrExists)
}

// TestArchiveOfNothing: the archive is the same whether a backend returns an empty
// slice as empty or as nil.
func TestArchiveOfNothing(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	var archives []string
	for _, nothing := range [][]byte{nil, {}} {
		st := memory.New()
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			err := tx.AppendEvents(ctx, store.Event{ID: "evt_1", Data: nothing})
			return errors.Join(err,
				tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: "k", Document: nothing}),
				tx.PutActivations(ctx, store.Activation{LicenseID: "lic_1", ID: "act_1", Document: nothing}),
				tx.PutEntries(ctx, store.Entry{Kind: "client", Key: "cid_1", Data: nothing}))
		}))
		archives = append(archives, export(t, st))
	}
	is.Equal(archives[0], archives[1])
}

func TestImportRefuses(t *testing.T) {
	is := is.New(t)
	full := memory.New()
	fill(t, full, 110)
	archive := export(t, full)
	require.ErrorIs(t, store.Import(t.Context(), full, strings.NewReader(archive)), store.ErrExists)
	is.Equal(export(t, full), archive)

	lines := strings.SplitAfter(archive, "\n")
	for name, tt := range map[string]struct{ broken, want string }{
		"empty":          {"", "this is no archive"},
		"something else": {`{"licenses":[]}`, "this is no archive"},
		"headless":       {strings.Join(lines[1:], ""), "this is no archive"},
		"newer format":   {strings.Replace(archive, `"format":1`, `"format":2`, 1), "the archive has format 2"},
		"no format":      {strings.Replace(archive, `"format":1`, `"format":0`, 1), "the archive has format 0"},
		"cut short":      {strings.Join(lines[:len(lines)-2], ""), "the archive is cut short after"},
		"cut in a line":  {archive[:len(archive)/2], "unexpected EOF"},
		"a line lost":    {strings.Join(lines[:len(lines)-3], "") + strings.Join(lines[len(lines)-2:], ""), "records and names"},
		"a line twice":   {lines[0] + lines[1] + strings.Join(lines[1:], ""), "exists"},
		"unknown record": {lines[0] + `{"thing":{}}` + "\n" + strings.Join(lines[1:], ""), "unknown field"},
		"no record":      {lines[0] + `{}` + "\n" + strings.Join(lines[1:], ""), "a line without a record"},
		"unknown field":  {strings.Replace(archive, `"State"`, `"Name"`, 1), "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			err := store.Import(t.Context(), memory.New(), strings.NewReader(tt.broken))
			require.Contains(t, fmt.Sprint(err), tt.want)
		})
	}
}

func TestExportEndsWithTheFirstError(t *testing.T) {
	st := memory.New()
	fill(t, st, 110)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, store.Export(ctx, st, &bytes.Buffer{}), context.Canceled)
}

// An Update of Import has no more bytes than every backend takes.
func TestImportOfLargeRecords(t *testing.T) {
	is := is.New(t)
	from := memory.New()
	is.NoErr(from.Update(t.Context(), func(tx store.Tx) error {
		for i := range 20 {
			if err := tx.PutEntries(t.Context(), store.Entry{Kind: "large", Key: fmt.Sprint(i), Data: make([]byte, 1<<20)}); err != nil {
				return err
			}
		}
		return nil
	}))
	to := &weighs{Store: memory.New()}
	archive := export(t, from)
	is.NoErr(store.Import(t.Context(), to, strings.NewReader(archive)))
	require.Greater(t, to.most, 0)
	require.AtMost(t, to.most, 16<<20)
	is.Equal(export(t, to), archive)
}

// weighs notes the most bytes of entries that an Update wrote.
type weighs struct {
	store.Store
	most int
}

func (s *weighs) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error {
		w := &weighed{Tx: tx}
		defer func() { s.most = max(s.most, w.bytes) }()
		return fn(w)
	})
}

type weighed struct {
	store.Tx
	bytes int
}

func (w *weighed) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		w.bytes += len(e.Data)
	}
	return w.Tx.PutEntries(ctx, entries...)
}
