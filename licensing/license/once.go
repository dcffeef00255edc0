package license

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

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
		reply, replayed, err = in.c.Replay(ctx, key, fingerprint)
		if err != nil || replayed {
			return err
		}
		if reply, err = fn(in); err != nil {
			return err
		}
		return in.c.Keep(ctx, key, fingerprint, reply)
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
			if reply, replayed, err = s.c.Replay(ctx, key, fingerprint); err != nil || replayed {
				return reply, replayed, err
			}
			if err := prepare(); err != nil {
				return nil, false, err
			}
		}
		reply, replayed, err = s.Once(ctx, key, fingerprint, change)
		if !errors.Is(err, call.ErrUnprepared) {
			return reply, replayed, err
		}
	}
}
