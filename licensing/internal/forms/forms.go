// Package forms makes a submitted form take effect once, even if the browser
// sends it again.
package forms

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/purge"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	kindForm = "form"
	ttl      = 24 * time.Hour
)

// MarkLength is the length of a mark made by [NewMark].
const MarkLength = 26

// NewMark returns a random mark for a form that may take effect once.
func NewMark() string { return rand.Text() }

// Forms stores which forms were submitted. It is safe for concurrent use.
type Forms struct {
	st  store.Store
	now func() time.Time
}

// New returns Forms that stores its records in st.
func New(st store.Store, now func() time.Time) *Forms { return &Forms{st, now} }

// Once runs fn when an actor submits a mark for the first time, and stores the
// result for a day: a reference to what fn created, never a secret. Later calls
// return that reference and repeated is true; the reference is empty while the
// first call is running. If fn fails, the mark can be submitted again. If the
// mark is empty, Once always runs fn.
func (f *Forms) Once(ctx context.Context, actor, mark string, fn func() (ref string, err error)) (ref string, repeated bool, err error) {
	if mark == "" {
		mark = NewMark()
	}
	now := f.now().UTC().Truncate(time.Millisecond)
	sum := sha256.Sum256([]byte(actor + "\x00" + mark))
	entry := store.Entry{Kind: kindForm, Key: hex.EncodeToString(sum[:]), CreatedAt: now, ExpiresAt: now.Add(ttl), Move: store.Passing}
	err = f.st.Update(ctx, func(tx store.Tx) error {
		e, err := tx.Entry(ctx, kindForm, entry.Key)
		if err == nil {
			ref, repeated = string(e.Data), true
			return nil
		}
		ref, repeated = "", false
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return tx.PutEntries(ctx, entry)
	})
	if err != nil || repeated {
		return ref, repeated, err
	}
	ref, err = fn()
	// Store the result even if the browser is no longer waiting.
	after := context.WithoutCancel(ctx)
	if err != nil {
		return "", false, errors.Join(err, f.st.Update(after, func(tx store.Tx) error {
			return tx.DeleteEntries(after, kindForm, entry.Key)
		}))
	}
	entry.Data = []byte(ref)
	return ref, false, f.st.Update(after, func(tx store.Tx) error { return tx.PutEntries(after, entry) })
}

// Purge removes a batch of expired marks and reports whether there may be more.
func (f *Forms) Purge(ctx context.Context) (more bool, err error) {
	if more, err = purge.Expired(ctx, f.st, f.now(), kindForm); err != nil {
		return false, fmt.Errorf("forms: purge: %w", err)
	}
	return more, nil
}
