package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// kindForm is the kind of the entries that remember which forms were sent.
const kindForm = "form"

// NewForm returns the mark of a form that may be sent once.
func NewForm() string { return rand.Text() }

// Once runs fn the first time that it is called with this mark by this
// caller, and keeps what it returns for a day: a reference to what was made,
// never a secret. Later calls get that reference, and repeated is true; an
// empty one means that the first call has not come to its end. If fn fails,
// the mark may be used again. An empty mark is nobody's: fn always runs.
func (a *Auth) Once(ctx context.Context, form string, fn func() (ref string, err error)) (ref string, repeated bool, err error) {
	if form == "" {
		form = NewForm()
	}
	now := a.now()
	sum := sha256.Sum256([]byte(a.caller.Actor + "\x00" + form))
	mark := store.Entry{Kind: kindForm, Key: hex.EncodeToString(sum[:]), CreatedAt: now, ExpiresAt: now.Add(24 * time.Hour)}
	err = a.st.Update(ctx, func(tx store.Tx) error {
		e, err := tx.Entry(ctx, kindForm, mark.Key)
		if err == nil {
			ref, repeated = string(e.Data), true
			return nil
		}
		ref, repeated = "", false
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return tx.PutEntry(ctx, mark)
	})
	if err != nil || repeated {
		return ref, repeated, err
	}
	ref, err = fn()
	// What fn did is done, whether or not the browser is still waiting.
	after := context.WithoutCancel(ctx)
	if err != nil {
		return "", false, errors.Join(err, a.st.Update(after, func(tx store.Tx) error {
			return tx.DeleteEntry(after, kindForm, mark.Key)
		}))
	}
	mark.Data = []byte(ref)
	return ref, false, a.st.Update(after, func(tx store.Tx) error { return tx.PutEntry(after, mark) })
}
