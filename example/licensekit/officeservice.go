package main

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	officeLease = 60 * 60        // of the seats that an office lends, in seconds
	officePoll  = time.Second    // between two looks at the answer file
	faultPause  = 5 * officePoll // after what panicked
)

// An officeService lends the seats of a license. A new answer of the vendor replaces the
// handler, and the store stays open, so programs do not notice.
type officeService struct {
	options             licensing.Options // without signing keys
	signer              crypto.Signer
	keyFile, answerFile string // the license key, and the answer of the vendor
	store               store.Store

	taking  sync.Mutex            // one answer at a time
	refusal atomic.Pointer[error] // why the answer in the answer file was refused; nil: it was not
	current atomic.Pointer[lending]
}

// A lending is the service with one answer.
type lending struct {
	*licensing.Handler
	*watch
	routes http.Handler
	answer string
	claims *licensefile.Claims // of the file in the answer; nil: there is no answer yet
}

// What the administrator can do something about.
var (
	errNoLicenseKey = errors.New("the license key is missing: enter it first")
	errOtherLicense = errors.New("the answer is for another license: an office lends one license; start another office, with files and a store of its own")
	errOlderAnswer  = errors.New("the answer is older than the one that the office has")
	errCutAnswer    = errors.New("the answer is not a whole license file; copy it again")
	errEndedAnswer  = errors.New("the answer has ended: take a request to the vendor again")
)

// start takes the answer in the answer file. If it is refused, the dashboard and the setup
// page work, and run tries it again.
func (o *officeService) start(ctx context.Context, st store.Store) error {
	o.store = st
	o.current.Store(o.with("", nil))
	answer, err := o.readAnswer(o.answerFile)
	if err == nil && answer != "" {
		_ = contained(func() error { return o.take(ctx, answer, license.Caller{}, false) }) // run logs the error
	}
	return err
}

// readAnswer returns the answer in a file, which a person may have saved; "" if it is missing.
func (o *officeService) readAnswer(file string) (string, error) {
	text, err := readSecret(file)
	return licensefile.Pasted(text), err
}

// contained calls f in a goroutine of its own, which it may end, and returns its error. A
// panic becomes an error, and is logged with its stack.
func contained(f func() error) (err error) {
	err = errors.New("a function ended its goroutine")
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				slog.Error("the office panicked", "panic", v, "stack", string(debug.Stack()))
				err = fmt.Errorf("panic: %v", v)
			}
		}()
		err = f()
	})
	wg.Wait()
	return err
}

// read returns what the file in an answer says.
func (o *officeService) read(answer string) (*licensefile.Claims, error) {
	for text := range strings.FieldsSeq(answer) {
		signature, err := base64.RawURLEncoding.DecodeString(text[strings.LastIndexByte(text, '.')+1:])
		if err != nil || len(signature) != 64 { // of Ed25519 and of ECDSA on P-256
			return nil, errCutAnswer
		}
	}
	lender, err := licensefile.NewLender(answer, o.signer)
	if err != nil {
		return nil, err
	}
	return &lender.Claims, nil
}

// with returns the service with an answer that was read.
func (o *officeService) with(answer string, c *licensefile.Claims) *lending {
	options := o.options
	if c != nil {
		options.SigningKeys = []files.SigningKey{{Signer: o.signer, Office: answer}}
	}
	h := licensing.NewHandler(o.store, options)
	inner.Of(h).LinkOffice()
	return &lending{h, &watch{programs: map[string]use{}}, routes(h, nil, nil), answer, c}
}

// take lends the seats of an answer from now on or, if it returns an error, of the
// earlier one still. An answer that is to be saved is in the answer file first, so that
// a process that ends after that starts with it.
func (o *officeService) take(ctx context.Context, answer string, by license.Caller, save bool) error {
	return o.replace(ctx, licensefile.Pasted(answer), by, save, false)
}

// replace is take for an answer that may be older than the one that the office has.
func (o *officeService) replace(ctx context.Context, answer string, by license.Caller, save, older bool) error {
	o.taking.Lock()
	defer o.taking.Unlock()
	earlier := o.current.Load()
	if answer == earlier.answer && earlier.claims != nil {
		return nil
	}
	c, err := o.read(answer)
	if err != nil {
		return err
	}
	switch old := earlier.claims; {
	case old != nil && old.LicenseID != c.LicenseID:
		return errOtherLicense
	case old != nil && c.IssuedAt.Before(old.IssuedAt) && !older:
		return errOlderAnswer
	case save && !c.ExpiresAt.After(time.Now()):
		return errEndedAnswer
	}
	key, err := readSecret(o.keyFile)
	if err != nil {
		return err
	}
	if key == "" {
		return errNoLicenseKey
	}
	if err := o.keep(earlier); err != nil {
		return err
	}
	if save {
		if err := writeSecret(o.answerFile, answer+"\n"); err != nil {
			return err
		}
	}
	l := o.with(answer, c)
	if err := putLicense(ctx, l.Service().As(by), c, key); err != nil {
		return err
	}
	o.current.Store(l)
	o.refusal.Store(nil)
	slog.Info("office lends", "license", c.LicenseID, "seats", c.Office.Seats, "until", c.ExpiresAt)
	return nil
}

// run does the background work of the handler of the moment until ctx ends, and takes the
// answer file when it has changed.
func (o *officeService) run(ctx context.Context) error {
	tick := time.NewTicker(officePoll)
	defer tick.Stop()
	hour, said := time.NewTicker(time.Hour), ""
	defer hour.Stop()
	for seen := ""; ctx.Err() == nil; {
		l := o.current.Load()
		_ = contained(func() error { said = l.sayNotice(ctx, said); return nil })
		working, end := context.WithCancel(ctx)
		var work sync.WaitGroup
		work.Go(func() {
			if l.claims == nil {
				return // there is nothing to do, and no key to create
			}
			for err := contained(func() error { return l.Run(working) }); err != nil; err = contained(func() error { return l.Run(working) }) {
				slog.Error("background work ended, and starts again", "error", err)
				select {
				case <-working.Done():
				case <-time.After(faultPause):
				}
			}
		})
		for ctx.Err() == nil && o.current.Load() == l {
			select {
			case <-ctx.Done():
			case <-tick.C:
				tick.Reset(officePoll)
				if err := contained(func() error { seen = o.poll(ctx, seen); return nil }); err != nil {
					o.refusal.Store(&err) // the page says so, and the office lends as before
					tick.Reset(faultPause)
				}
			case <-hour.C:
				_ = contained(func() error { said = l.sayNotice(ctx, said); return nil })
			}
		}
		end()
		work.Wait()
	}
	return nil
}

// notice returns what an administrator has to do so that the office lends; empty: nothing.
func (l *lending) notice(ctx context.Context) string {
	if l.claims == nil {
		return ""
	}
	if issued := l.claims.IssuedAt; issued.After(time.Now().Add(licensefile.Leeway)) {
		return "The clock of the office is behind: its license file was issued at " + issued.Format(time.RFC3339) + ". Set the clock."
	}
	for _, p := range l.Health(ctx).Problems {
		if p.Code == licensing.HealthOfficeEnding {
			return p.Detail
		}
	}
	return ""
}

// sayNotice logs the notice unless it was said before, and returns it.
func (l *lending) sayNotice(ctx context.Context, said string) string {
	notice := l.notice(ctx)
	if notice != "" && notice != said {
		slog.Warn("the office needs an administrator", "notice", notice)
	}
	return notice
}

// poll takes the answer file if it has another text than the current answer, and had that
// text at the last look as well: one that is being written is not read. seen is what
// it had then.
func (o *officeService) poll(ctx context.Context, seen string) (text string) {
	text, err := o.readAnswer(o.answerFile)
	switch {
	case err != nil || text == "" || text == o.current.Load().answer:
		o.refusal.Store(nil)
		return ""
	case seen != text && seen != refused+text:
		return text
	}
	if err = o.take(ctx, text, license.Caller{}, false); err == nil {
		return ""
	}
	o.refusal.Store(&err)
	if seen == text { // log it once
		slog.Warn("the answer file was refused; the office continues without it", "error", err)
	}
	return refused + text
}

// refused marks a text that was refused.
const refused = "refused: "

// request returns the request for seats, to take to the vendor. It reports usage, once
// the office lends.
func (o *officeService) request(ctx context.Context, seats int64) (string, error) {
	key, err := readSecret(o.keyFile)
	if err != nil {
		return "", err
	}
	if key == "" {
		return "", errNoLicenseKey
	}
	if l := o.current.Load(); l != nil && l.claims != nil {
		return l.Files().OfficeRequest(ctx, key, seats)
	}
	return licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: seats, KeyHash: licensefile.KeyHash(key)}, o.signer)
}

// putLicense puts the license into the store of the office, with as many activations as
// the office has seats, and with the meters of the vendor.
func putLicense(ctx context.Context, rules *license.Service, c *licensefile.Claims, key string) error {
	err := rules.Atomically(ctx, func(tx *license.Service) error {
		l, err := tx.Get(ctx, c.LicenseID)
		if err == nil && licensefile.KeyHash(l.Key) != licensefile.KeyHash(key) { // the vendor has replaced it
			_, err = tx.Rekey(ctx, api.RekeyLicenseParams{ID: l.ID, Key: key})
		}
		if err == nil {
			_, err = tx.Update(ctx, api.UpdateLicenseParams{
				ID: l.ID, MaxActivations: api.To(c.Office.Seats), Meters: api.To(meterChanges(l.Meters, c.Office.Meters)),
			})
		}
		return err
	})
	if !errors.Is(err, api.ErrNotFound) {
		return err
	}
	row, err := json.Marshal(map[string]any{
		"id": c.LicenseID, "key": key, "name": c.Name, "product_id": c.ProductID, "customer_id": "office",
		"max_activations": c.Office.Seats, "lease_seconds": officeLease, "meters": c.Office.Meters,
	})
	if err != nil {
		return err
	}
	return rules.Import(ctx, bytes.NewReader(row), func(r api.RowResult) error {
		if len(r.Errors) > 0 {
			return fmt.Errorf("the license of the office: %s %s", r.Errors[0].Field, r.Errors[0].Detail)
		}
		return nil
	})
}

// meterChanges replaces the meters of a license with those of the vendor.
func meterChanges(from map[string]api.Meter, to map[string]licensefile.Meter) map[string]*api.MeterChange {
	changes := map[string]*api.MeterChange{}
	for name := range from {
		changes[name] = nil
	}
	for name, m := range to {
		c := &api.MeterChange{Limit: api.ToNull[int64](), Soft: &m.Soft, Per: api.ToNull[api.MeterPeriod]()}
		if m.Limit != nil {
			c.Limit = api.To(*m.Limit)
		}
		if m.Per != "" {
			c.Per = api.To(api.MeterPeriod(m.Per))
		}
		changes[name] = c
	}
	return changes
}
