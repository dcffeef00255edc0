package operator

import (
	"context"
	"errors"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/seed-d8a106b4/licensekit/store"
)

// sessionStore stores the sessions of scs as entries, under the hashes of
// their tokens, owned by the operator. They expire by the clock of the service.
type sessionStore struct{ service *Service }

var _ scs.CtxStore = sessionStore{}

func (st sessionStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	e, err := st.service.st.Entry(ctx, kindSession, token)
	if errors.Is(err, store.ErrNotFound) || err == nil && !st.service.now().Before(e.ExpiresAt) {
		return nil, false, nil
	}
	return e.Data, err == nil, err
}

func (st sessionStore) CommitCtx(ctx context.Context, token string, data []byte, expires time.Time) error {
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return err
	}
	owner, _ := values["operator"].(string)
	return st.service.st.Update(ctx, func(tx store.Tx) error {
		if owner != "" {
			if err := endFirst(ctx, tx, owner); err != nil {
				return err
			}
		}
		return tx.PutEntries(ctx, store.Entry{Kind: kindSession, Key: token, Owner: owner, Data: data, ExpiresAt: expires, CreatedAt: st.service.now(), Move: store.Passing})
	})
}

func (st sessionStore) DeleteCtx(ctx context.Context, token string) error {
	return st.service.st.Update(ctx, func(tx store.Tx) error {
		return tx.DeleteEntries(ctx, kindSession, token)
	})
}

// The interface of scs requires the methods without a context, but scs calls
// the ones above.

func (st sessionStore) Find(token string) ([]byte, bool, error) {
	return st.FindCtx(context.Background(), token)
}

func (st sessionStore) Commit(token string, data []byte, expires time.Time) error {
	return st.CommitCtx(context.Background(), token, data, expires)
}

func (st sessionStore) Delete(token string) error { return st.DeleteCtx(context.Background(), token) }
