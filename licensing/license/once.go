package license

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// onceKind is the kind of entries that hold replies.
const onceKind = "once"

// A onceReply is the data of an entry.
type onceReply struct {
	Fingerprint string   `json:"fingerprint"` // digest of the request
	Reply       []byte   `json:"reply"`
	Products    []string `json:"products"` // products the reply is about; "" means all products
}

// Once runs fn at most once per key: it stores the changes of fn and the
// reply that fn returns in one Update. A call with the same key within
// Options.IdempotencyTTL returns the stored reply with replayed set to true
// and does not run fn. Of several concurrent calls, one runs fn; the others
// wait and replay its reply.
//
// Keys are scoped to the Caller's Actor. The fingerprint identifies the
// request: the same key with a different fingerprint is [api.ErrOnceMismatch]. A
// reply about a product the Caller no longer sees is [api.ErrProductForbidden].
// If fn fails, nothing is stored and the key stays free. The rules of
// [Service.Atomically] apply to fn. The reply must not contain a secret that
// is shown only once.
func (s *Service) Once(ctx context.Context, key, fingerprint string, fn func(*Service) ([]byte, error)) (reply []byte, replayed bool, err error) {
	if key == "" || len(key) > 255 {
		return nil, false, api.Invalid("idempotency_key", api.FieldOutOfRange, "must be 1 to 255 characters long")
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

// OncePrepared is Once for a change with a part that must come before the Update.
// Unless there is a stored reply, prepare does that part, and change the rest inside
// Once. If change returns errUnprepared, because what was prepared is outdated, both
// run again. A nil prepare does nothing.
func (s internals) OncePrepared(ctx context.Context, key, fingerprint string, prepare func() error, change func(*Service) ([]byte, error)) (reply []byte, replayed bool, err error) {
	for {
		if prepare != nil {
			if reply, replayed, err = s.replay(ctx, key, fingerprint); err != nil || replayed {
				return reply, replayed, err
			}
			if err := prepare(); err != nil {
				return nil, false, err
			}
		}
		reply, replayed, err = s.Once(ctx, key, fingerprint, change)
		if !errors.Is(err, errUnprepared) {
			return reply, replayed, err
		}
	}
}

// errUnprepared: another call has changed what was prepared for an Update.
var errUnprepared = errors.New("what was prepared has changed")

// replay returns the reply stored under key, if any. It returns the same
// errors as Once.
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
		return nil, false, api.ErrOnceMismatch
	}
	for _, product := range kept.Products {
		if !s.sees(product) {
			return nil, false, api.ErrProductForbidden
		}
	}
	return kept.Reply, true, nil
}

// Replay returns the reply that Once has stored under a key, if there is one.
// It writes nothing.
func (s internals) Replay(ctx context.Context, key, fingerprint string) (reply []byte, ok bool, err error) {
	return s.replay(ctx, key, fingerprint)
}

// keep stores a reply.
func (s *Service) keep(ctx context.Context, key, fingerprint string, reply []byte) error {
	err := s.tx.PutEntries(ctx, store.Entry{
		Kind:      onceKind,
		Key:       s.onceKey(key),
		Data:      record.Encode(onceReply{Fingerprint: digest(fingerprint), Reply: reply, Products: names(s.tx.products)}),
		ExpiresAt: s.tx.now.Add(s.opts.IdempotencyTTL),
		CreatedAt: s.tx.now,
	})
	if err != nil {
		return fmt.Errorf("once: %w", err)
	}
	return nil
}

// onceKey returns the entry key for a caller's key.
func (s *Service) onceKey(key string) string { return digest(s.actor() + "\x00" + key) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
