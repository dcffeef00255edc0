package program

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A Device is an installation that has a seat of the license.
type Device struct {
	api.Activation
	This bool `json:"this"` // whether it is this installation
}

// Devices returns the installations that have a seat of the license, oldest first. The
// service must have the option KeyHolderSeats; otherwise, the code of the error is forbidden.
func (l *License) Devices(ctx context.Context) (all []Device, err error) {
	p := map[string]any{"limit": 200}
	for !l.isFixed() {
		var page api.Page[api.Activation]
		own, err := l.manage(ctx, "/license/activation", p, &page)
		if err != nil {
			return nil, err
		}
		for _, a := range page.Data {
			all = append(all, Device{a, a.Fingerprint == own})
		}
		if page.NextCursor == "" {
			break
		}
		p["cursor"] = page.NextCursor
	}
	return all, nil
}

// Free frees the seat of an installation, by the ID of its [Device]; [License.Refresh] takes it
// if this one has none. The program there is denied at its next check, and may run from its
// license file until that expires. The errors are those of Devices and of Release, which does
// the same for this installation.
func (l *License) Free(ctx context.Context, device string) error {
	if l.isFixed() {
		return nil
	}
	own := false
	l.locked(func() { own = l.file != nil && l.file.ActivationID == device })
	if own {
		return l.Release(ctx)
	}
	_, err := l.manage(ctx, "/license/deactivate", map[string]any{"activation_id": device}, new(api.Activation))
	if e, ok := errors.AsType[*Error](err); ok && e.Code == api.CodeNotFound {
		e.sentence = "The license has no such device."
	}
	return err
}

// manage sends a request with the license key, and decodes the answer. It returns the
// fingerprint of this installation.
func (l *License) manage(ctx context.Context, path string, p map[string]any, into any) (own string, err error) {
	l.locked(func() { p["key"], own = l.key, l.seatOf(l.product) })
	if err := l.canAsk(p["key"].(string)); err != nil {
		return "", err
	}
	inner, done := l.until(ctx)
	defer done()
	resp, body, err := l.post(inner, path, p)
	if err == nil && (resp.StatusCode != http.StatusOK || json.Unmarshal(body, into) != nil) {
		err = refused(resp, problemOf(body))
	}
	return own, l.explain(ctx, err)
}
