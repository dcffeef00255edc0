package mail

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/store"
)

// The kinds of the entries of links and sessions. Key is a digest of the token, and Data
// an address that is encrypted with the token.
const (
	linkKind    = "mail_link"
	sessionKind = "mail_session"
)

// How long links and sessions last.
const (
	linkTTL    = 15 * time.Minute
	sessionTTL = 24 * time.Hour
)

// errEnded means that a link or a session was used, has ended, or never was.
var errEnded = errors.New("mail: the link or the session has ended")

// A token is the secret of a link or a session: 32 random bytes; nil: none.
type token []byte

func newToken() token {
	t := make(token, 32)
	rand.Read(t)
	return t
}

func (t token) String() string { return base64.RawURLEncoding.EncodeToString(t) }

func parseToken(text string) token {
	t, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(t) != 32 {
		return nil
	}
	return t
}

// key returns the key of the entry of a token.
func (t token) key(kind string) string {
	digest := sha256.Sum256(append([]byte(kind+"\x00"), t...))
	return hex.EncodeToString(digest[:])
}

// cipher returns what encrypts the data of the entry of a token.
func (t token) cipher(kind string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, t, nil, "licensekit "+kind, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// entry returns the entry of a token that stands for an address.
func (t token) entry(kind, address string, now time.Time, ttl time.Duration) (store.Entry, error) {
	seal, err := t.cipher(kind)
	if err != nil {
		return store.Entry{}, err
	}
	return store.Entry{Kind: kind, Key: t.key(kind), Data: seal.Seal(nil, nil, []byte(address), nil), CreatedAt: now, ExpiresAt: now.Add(ttl), Move: store.Passing}, nil
}

// open returns the address of a token, or errEnded.
func (t token) open(ctx context.Context, r store.Reader, kind string, now time.Time) (address string, err error) {
	if t == nil {
		return "", errEnded
	}
	e, err := r.Entry(ctx, kind, t.key(kind))
	if errors.Is(err, store.ErrNotFound) || err == nil && !now.Before(e.ExpiresAt) {
		return "", errEnded
	}
	if err != nil {
		return "", err
	}
	seal, err := t.cipher(kind)
	if err != nil {
		return "", err
	}
	text, err := seal.Open(nil, nil, e.Data, nil)
	return string(text), err
}

// put stores a link, and removes some links and sessions that have ended.
func (s *SignIn) put(ctx context.Context, link token, address string) error {
	now := s.now()
	e, err := link.entry(linkKind, address, now, linkTTL)
	if err != nil {
		return err
	}
	if _, err := entries.Purge(ctx, s.store(), now, linkKind, sessionKind); err != nil {
		return err
	}
	return s.store().Update(ctx, func(tx store.Tx) error { return tx.PutEntries(ctx, e) })
}

// exchange ends a link and starts a session in its place. It also ends the session before.
func (s *SignIn) exchange(ctx context.Context, link, before token) (session token, err error) {
	if _, err := link.open(ctx, s.store(), linkKind, s.now()); err != nil { // without the write lock
		return nil, err
	}
	session = newToken()
	err = s.store().Update(ctx, func(tx store.Tx) error {
		now := s.now()
		address, err := link.open(ctx, tx, linkKind, now)
		if err != nil {
			return err
		}
		e, err := session.entry(sessionKind, address, now, sessionTTL)
		if err != nil {
			return err
		}
		if err := tx.DeleteEntries(ctx, linkKind, link.key(linkKind)); err != nil {
			return err
		}
		if before != nil {
			if err := tx.DeleteEntries(ctx, sessionKind, before.key(sessionKind)); err != nil {
				return err
			}
		}
		return tx.PutEntries(ctx, e)
	})
	return session, err
}

// end ends a session.
func (s *SignIn) end(ctx context.Context, session token) error {
	if session == nil {
		return nil
	}
	return s.store().Update(ctx, func(tx store.Tx) error {
		return tx.DeleteEntries(ctx, sessionKind, session.key(sessionKind))
	})
}
