package license

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// onceKind is the kind of the entries that hold replies.
const onceKind = "once"

// oncePurge is how many replies that are no longer kept are removed with each
// new one: more than come in, and few enough to go unnoticed.
const oncePurge = 4

// A onceReply is the data of an entry.
type onceReply struct {
	Fingerprint string   `json:"fingerprint"` // a digest of what was asked
	Reply       []byte   `json:"reply"`
	Products    []string `json:"products"` // what it deals with; "" stands for all products
}

// Once makes fn's effect and reply happen once: fn's changes and the reply it
// returns are stored in one Update, and whoever comes with the same key again
// within Options.IdempotencyTTL gets that reply, replayed, while fn does not run. Of
// callers who come at the same time one has the effect, and the others wait
// and replay.
//
// Keys belong to the Caller's Actor. The fingerprint says what was asked: the
// same key with another one is [ErrOnceMismatch]. A reply that deals with a
// product the Caller no longer sees is [ErrProductForbidden]. When fn fails nothing is
// stored, and the key is free. For fn the terms of [Service.Atomically] hold;
// no secret that is shown once may be in the reply.
func (s *Service) Once(ctx context.Context, key, fingerprint string, fn func(*Service) ([]byte, error)) (reply []byte, replayed bool, err error) {
	if key == "" || len(key) > 255 {
		return nil, false, Invalid("idempotency_key", CodeOutOfRange, "must be 1 to 255 characters")
	}
	err = s.Atomically(ctx, func(in *Service) error {
		reply, replayed, err = in.replay(ctx, key, fingerprint)
		if err != nil || replayed {
			return err
		}
		if reply, err = fn(in); err != nil {
			return err
		}
		return in.keep(ctx, key, fingerprint, reply)
	})
	if err != nil {
		return nil, false, err
	}
	return reply, replayed, nil
}

// replay returns the reply that Once keeps under key, if it keeps one. The
// errors are those of Once.
func (s *Service) replay(ctx context.Context, key, fingerprint string) (reply []byte, ok bool, err error) {
	entry, err := s.reader().Entry(ctx, onceKind, s.onceKey(key))
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("once: %w", err)
	}
	if !s.now().Before(entry.ExpiresAt) {
		return nil, false, nil
	}
	var kept onceReply
	if err := json.Unmarshal(entry.Data, &kept); err != nil {
		return nil, false, fmt.Errorf("once: stored reply: %w", err)
	}
	if kept.Fingerprint != digest(fingerprint) {
		return nil, false, ErrOnceMismatch
	}
	for _, product := range kept.Products {
		if !s.sees(product) {
			return nil, false, ErrProductForbidden
		}
	}
	return kept.Reply, true, nil
}

// Purge removes a batch of the replies that Once no longer keeps, and reports
// whether there may be more. Once does so by itself with every reply it
// stores; Purge is for the time after the last.
func (s *Service) Purge(ctx context.Context) (more bool, err error) {
	const batch = 100
	err = s.update(ctx, func(tx *transaction) error {
		n, err := tx.purge(ctx, batch)
		more = n == batch
		return err
	})
	return more, err
}

// purge removes at most limit replies that are no longer kept, and counts them.
func (tx *transaction) purge(ctx context.Context, limit int) (int, error) {
	ended, err := tx.Entries(ctx, store.EntryQuery{Kind: onceKind, Order: store.ByExpiry, Expires: store.TimeRange{Before: tx.now}, Limit: limit})
	if err != nil {
		return 0, fmt.Errorf("once: %w", err)
	}
	for _, entry := range ended {
		if err := tx.DeleteEntries(ctx, onceKind, entry.Key); err != nil {
			return 0, fmt.Errorf("once: %w", err)
		}
	}
	return len(ended), nil
}

// keep stores a reply, and removes a few that are no longer kept.
func (s *Service) keep(ctx context.Context, key, fingerprint string, reply []byte) error {
	if _, err := s.tx.purge(ctx, oncePurge); err != nil {
		return err
	}
	err := s.tx.PutEntries(ctx, store.Entry{
		Kind:      onceKind,
		Key:       s.onceKey(key),
		Data:      encode(onceReply{Fingerprint: digest(fingerprint), Reply: reply, Products: names(s.tx.products)}),
		ExpiresAt: s.tx.now.Add(s.opts.IdempotencyTTL),
		CreatedAt: s.tx.now,
	})
	if err != nil {
		return fmt.Errorf("once: %w", err)
	}
	return nil
}

// onceKey returns the key of the entry for a caller's key.
func (s *Service) onceKey(key string) string { return digest(s.actor() + "\x00" + key) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
