package auth

import (
	"context"
	"errors"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/seed-d8a106b4/licensekit/store"
)

// sessionStore keeps the sessions of scs as entries, under the hash of their
// token, until they expire by the clock of the options.
type sessionStore struct{ a *Auth }

var _ scs.CtxStore = sessionStore{}

func (s sessionStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	e, err := s.a.st.Entry(ctx, kindSession, token)
	if errors.Is(err, store.ErrNotFound) || err == nil && !s.a.now().Before(e.ExpiresAt) {
		return nil, false, nil
	}
	return e.Data, err == nil, err
}

func (s sessionStore) CommitCtx(ctx context.Context, token string, data []byte, expires time.Time) error {
	return s.a.st.Update(ctx, func(tx store.Tx) error {
		return tx.PutEntry(ctx, store.Entry{Kind: kindSession, Key: token, Data: data, ExpiresAt: expires, CreatedAt: s.a.now()})
	})
}

func (s sessionStore) DeleteCtx(ctx context.Context, token string) error {
	return s.a.st.Update(ctx, func(tx store.Tx) error {
		err := tx.DeleteEntry(ctx, kindSession, token)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
}

// The methods without a context are there for scs's interface; it calls those
// with one.

func (s sessionStore) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

func (s sessionStore) Commit(token string, data []byte, expires time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expires)
}

func (s sessionStore) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }
