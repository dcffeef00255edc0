package operator

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestPurgeRemovesExpiredRecordsInBatches(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newFixture(t)
	_, err := o.CreateSetupCode(ctx)
	is.NoErr(err)
	for i := range entries.PurgeBatch + 5 {
		_, err := o.Invite(ctx, InviteParams{Email: fmt.Sprintf("bob%d@example.com", i)})
		is.NoErr(err)
	}
	op := o.operator(t, "ada@example.com", RoleAdmin)
	b := &browser{o: o}
	is.NoErr(b.signIn("ada@example.com", goodPassword))
	is.NoErr(o.begin(ctx, newAttempt("ada@example.com", place(1))))

	o.now = o.now.Add(InvitationTTL - time.Millisecond)
	_, err = o.Invite(ctx, InviteParams{Email: "cyd@example.com"})
	is.NoErr(err)
	o.now = o.now.Add(time.Millisecond)
	more, err := inner.Of(o.Service).Purge(ctx)
	is.NoErr(err)
	is.True(more)
	more, err = inner.Of(o.Service).Purge(ctx)
	is.NoErr(err)
	is.True(!more)
	for kind, want := range map[string]int{kindSession: 0, kindSignIn: 0, kindSetup: 0, kindInvitation: 1, kindOperator: 1} {
		entries, err := o.st.Entries(ctx, store.EntryQuery{Kind: kind})
		is.NoErr(err)
		is.Equal(len(entries), want) // only what has not expired
	}
	_, err = o.Get(ctx, op.ID)
	is.NoErr(err)
}

func TestPurgeWithoutExpiredRecordsStartsNoUpdate(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	st := &recordingStore{Store: o.st}
	c := o.opts
	c.Store = st
	more, err := inner.Of(open(c)).Purge(t.Context())
	is.NoErr(err)
	is.True(!more)
	is.Equal(st.calls, nil)
}

// recordingStore records the calls to a store in order.
type recordingStore struct {
	store.Store
	calls []string
}

func (s *recordingStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	s.calls = append(s.calls, "Entry "+kind)
	return s.Store.Entry(ctx, kind, key)
}

func (s *recordingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.calls = append(s.calls, "Update")
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(recordingTx{tx, s}) })
}

type recordingTx struct {
	store.Tx
	s *recordingStore
}

func (tx recordingTx) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	tx.s.calls = append(tx.s.calls, "tx.Entry "+kind)
	return tx.Tx.Entry(ctx, kind, key)
}

func (tx recordingTx) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	tx.s.calls = append(tx.s.calls, "tx.Entries "+q.Kind)
	return tx.Tx.Entries(ctx, q)
}

func (tx recordingTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		tx.s.calls = append(tx.s.calls, "tx.PutEntries "+e.Kind)
	}
	return tx.Tx.PutEntries(ctx, entries...)
}

func (tx recordingTx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	tx.s.calls = append(tx.s.calls, "tx.DeleteEntries "+kind)
	return tx.Tx.DeleteEntries(ctx, kind, keys...)
}

func (tx recordingTx) AppendEvents(ctx context.Context, events ...store.Event) error {
	for _, e := range events {
		tx.s.calls = append(tx.s.calls, "tx.AppendEvents "+e.Type)
	}
	return tx.Tx.AppendEvents(ctx, events...)
}
