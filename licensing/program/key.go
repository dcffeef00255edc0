package program

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// errNoService is returned by methods that need Options.URL.
var errNoService = errors.New("program: Options.URL is empty, so there is no service; see Install")

// Refresh asks the service now, and returns nil if it has answered: Status has the
// verdict. Without a service, it reads Dir again. Concurrent calls share one check.
func (l *License) Refresh(ctx context.Context) error {
	if l.isFixed() {
		return nil
	}
	asks := false
	l.locked(func() {
		l.load()
		l.judge()
		asks = l.asks()
	})
	if !asks {
		l.poke()
		return nil
	}
	return l.explain(ctx, l.refresh(ctx))
}

// refresh asks the service and applies the answer, unless another check that began
// later has done that.
func (l *License) refresh(ctx context.Context) error {
	l.mu.Lock()
	counted := l.begun
	l.mu.Unlock()
	inner, done, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	l.mu.Lock()
	key, shared, failed := l.key, l.completed > counted, l.failed
	asks := l.asks() // not if the seat was released meanwhile
	l.begun++
	number := l.begun
	l.mu.Unlock()
	switch {
	case shared:
		return failed
	case !asks:
		return nil
	}
	r, err := l.query(inner, key, regular)
	switch {
	case err != nil && (l.ctx.Err() != nil || ctx.Err() != nil):
		return err // the caller left, which says nothing about the service
	}
	l.locked(func() {
		l.completed = number
		if err != nil {
			l.fail(err)
		} else {
			l.accept(r)
		}
	})
	if err == nil || errors.Is(err, errUntrusted) {
		l.updateList(inner, r.Code)
	}
	l.locked(func() {
		l.fault = nil
		l.judge()
	})
	l.attempted()
	return err
}

// SetKey replaces the license key, and takes a free seat even if this
// installation was released, lost its seat, or is for another machine. It returns
// nil if the license is valid then. An [*Error] says why not, in one sentence for
// the user. The new key stays unless no license has it or the service did not
// answer; then nothing has changed.
func (l *License) SetKey(ctx context.Context, key string) error {
	if l.isFixed() {
		return nil
	}
	return l.take(ctx, strings.TrimSpace(key), again)
}

// TakeOver takes the seat of the oldest activation of the license if none is
// free. It returns what SetKey returns. The installation that loses its seat is
// denied at its next check, and may run from its license file to its end or, if
// it does not ask the service, until its file expires.
func (l *License) TakeOver(ctx context.Context) error {
	if l.isFixed() {
		return nil
	}
	l.mu.Lock()
	key := l.key
	l.mu.Unlock()
	return l.take(ctx, key, takeOver)
}

// canAsk returns why the service cannot be asked with a key; nil: it can.
func (l *License) canAsk(key string) error {
	switch {
	case l.opts.URL == "":
		return l.fails(CodeNoService, errNoService)
	case key == "":
		return l.fails(CodeNoKey, nil)
	}
	return nil
}

func (l *License) take(ctx context.Context, key string, how reach) error {
	if err := l.canAsk(key); err != nil {
		return err
	}
	if l.fingerprint == "" {
		return l.fails(CodeFingerprintRequired, l.idError)
	}
	inner, done, err := l.begin(ctx)
	if err != nil {
		return l.explain(ctx, err)
	}
	defer done()
	r, err := l.query(inner, key, how)
	if err != nil {
		return l.explain(ctx, err)
	}
	if r.Code == api.VerdictNotFound {
		return l.fails(r.Code, nil)
	}
	l.locked(func() {
		l.key, l.file, l.denial, l.deniedAt, l.fresh, l.released = key, nil, nil, time.Time{}, true, false
		l.unsaved[licenseName], l.unsaved[denialName] = "", ""
		l.setProduct(l.opts.ProductID)
		if how == again {
			l.unsaved[keyName] = key
		}
		l.accept(r)
		l.save()
	})
	l.updateList(inner, r.Code)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = nil
	l.judge()
	return l.Status().Err()
}

// Release frees the seat of this installation, and deletes the license file from
// Dir: for an uninstallation, or at the exit of a program of which more are
// installed than may run. The license key stays, and the next start takes a seat
// again. It returns an [*Error] if the service did not answer, or if a license file
// holds the seat; then nothing has changed.
func (l *License) Release(ctx context.Context) error {
	if l.isFixed() {
		return nil
	}
	if l.opts.URL == "" {
		return l.fails(CodeNoService, errNoService)
	}
	inner, done, err := l.begin(ctx)
	if err != nil {
		return l.explain(ctx, err)
	}
	defer done()
	l.mu.Lock()
	key, seat := l.key, l.seatOf(l.product)
	l.mu.Unlock()
	if key != "" && l.fingerprint != "" {
		if err := l.freeSeat(inner, key, seat); err != nil {
			return l.explain(ctx, err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	if len(l.unsaved) > 0 {
		return l.fails(CodeDirUnusable, l.dirError)
	}
	return nil
}

// freeSeat frees the seat of this installation at the service. It is no error if there is
// none.
func (l *License) freeSeat(ctx context.Context, key, seat string) error {
	resp, body, err := l.post(ctx, "/license/deactivate", params{Key: key, Fingerprint: seat})
	if err != nil || resp.StatusCode == http.StatusOK {
		return err
	}
	err = refused(resp, problemOf(body))
	if codeOf(err) == api.CodeNotFound {
		return nil
	}
	return err
}

// forget makes this installation one without a seat. The caller holds l.mu.
func (l *License) forget() {
	l.denial = &denial{Code: api.VerdictNotActivated, Key: l.digest(), Since: l.latest()}
	l.file, l.display, l.revoked, l.listAt, l.released = nil, display{}, nil, time.Time{}, true
	l.unsaved[licenseName], l.unsaved[denialName], l.unsaved[listName], l.unsaved[dueName], l.unsaved[displayName] = "", "", "", "", ""
	l.save()
	l.judge()
}
