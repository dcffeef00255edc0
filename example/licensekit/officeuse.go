package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// The office cannot verify an answer, which programs do: it keeps the answer before, to which
// an administrator can go back, until a program has used the new one.

// earlierSuffix ends the name of the file with the answer before.
const earlierSuffix = ".earlier"

// acceptedAfter is how long a program that refuses a license file may take until it asks
// for another one, after it has checked its license without.
const acceptedAfter = time.Minute

// A watch notes what programs do with the license files of an answer.
type watch struct {
	mu       sync.Mutex
	programs map[string]use // by fingerprint
}

// A use is when a program last asked for a license file, and when it last checked its license
// without asking for one. A program that refuses a file asks for another with each check.
type use struct{ asked, checked time.Time }

// note notes a request of a program. It leaves the body unchanged.
func (w *watch) note(r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != mount+"/license/validate" && r.URL.Path != mount+"/license/activate" {
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxOfficeForm))
	rest := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	var p struct{ Fingerprint, File string }
	if err != nil || json.Unmarshal(body, &p) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	u, known := w.programs[p.Fingerprint]
	switch {
	case p.File != "" && (known || len(w.programs) < maxSeatsAsked):
		w.programs[p.Fingerprint] = use{asked: time.Now()}
	case p.File == "" && known:
		u.checked = time.Now()
		w.programs[p.Fingerprint] = u
	}
}

// used reports whether a program has accepted a license file.
func (w *watch) used(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range w.programs {
		if !u.checked.IsZero() && now.Sub(u.checked) >= acceptedAfter {
			return true
		}
	}
	return false
}

// earlier returns the answer before the one that the office has, and what its file says; nil:
// there is none to go back to.
func (o *officeService) earlier(l *lending) (answer string, c *licensefile.Claims) {
	file := o.answerFile + earlierSuffix
	answer, err := o.readAnswer(file)
	if err != nil || answer == "" || answer == l.answer {
		return "", nil
	}
	if l.claims != nil && l.used(time.Now()) {
		if err := os.Remove(file); err != nil {
			slog.Error("the answer before cannot be removed", "error", err)
		}
		return "", nil
	}
	if c, err = o.read(answer); err != nil || !c.ExpiresAt.After(time.Now()) {
		return "", nil
	}
	return answer, c
}

// keep keeps the answer that another one replaces, unless no program has used it: then the
// one before it stays.
func (o *officeService) keep(l *lending) error {
	if l.claims == nil {
		return nil
	}
	if _, c := o.earlier(l); c != nil {
		return nil
	}
	return writeSecret(o.answerFile+earlierSuffix, l.answer+"\n")
}

// back goes back to the answer before.
func (o *officeService) back(ctx context.Context, by license.Caller) error {
	answer, c := o.earlier(o.current.Load())
	if c == nil {
		return errors.New("there is no answer to go back to")
	}
	return o.replace(ctx, answer, by, true, true)
}
