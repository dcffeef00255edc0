package operator

import (
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/purge"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestPurgeRemovesExpiredRecordsInBatches(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	o := newOffice(t)
	_, err := o.CreateSetupCode(ctx)
	is.NoErr(err)
	for i := range purge.Batch + 5 {
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
	o := newOffice(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	st := &recordingStore{Store: o.st}
	c := o.opts
	c.Store = st
	more, err := inner.Of(open(c)).Purge(t.Context())
	is.NoErr(err)
	is.True(!more)
	is.Equal(st.calls, nil)
}
