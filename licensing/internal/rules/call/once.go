package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// OnceKind is the kind of entries that hold replies.
const OnceKind = "once"

// A onceReply is the data of an entry.
type onceReply struct {
	Fingerprint string   `json:"fingerprint"` // digest of the request
	Reply       []byte   `json:"reply"`
	Products    []string `json:"products"` // products the reply is about; "" means all products
}

// ErrUnprepared: another call has changed what was prepared for an Update.
var ErrUnprepared = errors.New("what was prepared has changed")

// Replay returns the reply stored under key, if any. It returns the same
// errors as Once.
func (s *Call) Replay(ctx context.Context, key, fingerprint string) (reply []byte, ok bool, err error) {
	entry, err := s.Reader().Entry(ctx, OnceKind, s.onceKey(key))
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("once: %w", err)
	}
	if !s.Now().Before(entry.ExpiresAt) {
		return nil, false, nil
	}
	var kept onceReply
	if err := json.Unmarshal(entry.Data, &kept); err != nil {
		return nil, false, fmt.Errorf("once: stored reply: %w", err)
	}
	if kept.Fingerprint != Digest(fingerprint) {
		return nil, false, api.ErrOnceMismatch
	}
	for _, product := range kept.Products {
		if !s.Sees(product) {
			return nil, false, api.ErrProductForbidden
		}
	}
	return kept.Reply, true, nil
}

// Keep stores a reply.
func (s *Call) Keep(ctx context.Context, key, fingerprint string, reply []byte) error {
	err := s.Tx.PutEntries(ctx, store.Entry{
		Kind:      OnceKind,
		Key:       s.onceKey(key),
		Data:      record.Encode(onceReply{Fingerprint: Digest(fingerprint), Reply: reply, Products: Names(s.Tx.products)}),
		ExpiresAt: s.Tx.Now.Add(s.Opts.IdempotencyTTL),
		CreatedAt: s.Tx.Now,
	})
	if err != nil {
		return fmt.Errorf("once: %w", err)
	}
	return nil
}

// onceKey returns the entry key for a caller's key.
func (s *Call) onceKey(key string) string { return Digest(s.actor() + "\x00" + key) }

func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
