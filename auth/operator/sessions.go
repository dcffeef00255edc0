package operator

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// maxSessions is the maximum number of open sessions of an operator. A further
// sign-in ends the one that would end first.
const maxSessions = 50

// maxUserAgent is how much of a User-Agent header a session keeps, in bytes.
const maxUserAgent = 255

// Sessions returns the open sessions of an operator, newest first, at most 50. The
// one of r is marked as Current. It returns [api.ErrNotFound] if there is no such
// operator.
func (s internals) Sessions(r *http.Request, operatorID string) ([]signin.Session, error) {
	ctx := r.Context()
	_, rec, err := readRecord(ctx, s.st, operatorID)
	if err != nil {
		return nil, err
	}
	current := ""
	if c, err := r.Cookie(sessionCookie); err == nil {
		current = sessionKey(c.Value)
	}
	open := store.TimeRange{From: s.now().Add(time.Millisecond)}
	entries, err := s.st.Entries(ctx, store.EntryQuery{Kind: kindSession, Order: store.ByExpiry, Owner: operatorID, Expires: open, Limit: maxSessions})
	if err != nil {
		return nil, err
	}
	var list []signin.Session
	for _, e := range entries {
		_, values, err := scs.GobCodec{}.Decode(e.Data)
		if err != nil {
			return nil, fmt.Errorf("session: %w", err)
		}
		if values["generation"] != rec.Generation || rec.Disabled {
			continue // ended, and not removed yet
		}
		address, _ := values["address"].(string)
		agent, _ := values["agent"].(string)
		list = append(list, signin.Session{ID: e.Key, Address: address, UserAgent: agent, CreatedAt: e.CreatedAt, ExpiresAt: e.ExpiresAt, Current: e.Key == current})
	}
	slices.SortStableFunc(list, func(a, b signin.Session) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return list, nil
}

// sessionKey returns the key of the entry of a session. It is that of scs.
func sessionKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// EndSession ends one session of an operator immediately, in every process, and
// appends operator.signed_out. It returns [api.ErrNotFound] if the operator has no
// such session.
func (s internals) EndSession(ctx context.Context, operatorID, sessionID string) error {
	return s.st.Update(ctx, func(tx store.Tx) error {
		session, err := tx.Entry(ctx, kindSession, sessionID)
		if errors.Is(err, store.ErrNotFound) || err == nil && session.Owner != operatorID {
			return fmt.Errorf("session: %w", api.ErrNotFound)
		}
		if err != nil {
			return err
		}
		e, rec, err := readRecord(ctx, tx, operatorID)
		if err != nil {
			return err
		}
		if err := tx.DeleteEntries(ctx, kindSession, sessionID); err != nil {
			return err
		}
		return s.appendChange(ctx, tx, api.EventOperatorSignedOut, rec.operator(e), nil)
	})
}

// endFirst ends the session of an operator that would end first, so that there is room for
// one more.
func endFirst(ctx context.Context, tx store.Tx, operatorID string) error {
	entries, err := tx.Entries(ctx, store.EntryQuery{Kind: kindSession, Order: store.ByExpiry, Owner: operatorID, Limit: maxSessions})
	if err != nil || len(entries) < maxSessions {
		return err
	}
	return tx.DeleteEntries(ctx, kindSession, entries[0].Key)
}
