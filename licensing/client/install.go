package client

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// errNoTrust is returned by Install without pinned keys.
var errNoTrust = errors.New("client: this program does not run from license files; set ProgramOptions.Trust")

// Install verifies the text of a license file or of a revocation list, which
// the user has pasted or brought along, and then stores it: in State, or
// without one in memory. The error says why the text was refused, such as
// licensefile.ErrSignature or licensefile.ErrExpired; then nothing has changed.
// A file that is not valid yet is stored, and used when its time comes. Status
// has the result immediately.
func (p *Program) Install(text string) error {
	if p.opts.Trust == nil {
		return errNoTrust
	}
	o := &p.offline
	o.mu.Lock()
	defer o.mu.Unlock()
	now := p.scan()
	if err := p.findPending(); err != nil {
		return fmt.Errorf("client: install: %w", err)
	}
	name, answers, err := o.admit(text, p.opts, now)
	if err != nil {
		return fmt.Errorf("client: install: %w", err)
	}
	if p.opts.State != nil {
		if err := p.opts.State.write(name, text); err != nil {
			return fmt.Errorf("client: install: %w", err)
		}
	}
	o.kept = append(o.kept, storedText{name, text})
	if answers {
		if p.opts.State != nil {
			_ = p.opts.State.answered(o.nonce) // otherwise the next request has it again
		}
		o.nonce = ""
	}
	p.scan()
	p.prune()
	p.poke()
	return nil
}

// Request returns the text with which the user asks the vendor for a license
// file on a machine without a network: at most 400 characters for a fingerprint
// of up to 128 bytes. The file that answers it carries its nonce, and Install
// refuses a file that answers another request. Until a file is installed, the
// nonce stays the same, with State also after a restart. It fails without a
// fingerprint.
func (p *Program) Request() (string, error) {
	if p.opts.Trust == nil {
		return "", errNoTrust
	}
	o := &p.offline
	o.mu.Lock()
	defer o.mu.Unlock()
	r := licensefile.NewRequest(p.opts.Key, p.opts.Fingerprint)
	if err := p.findPending(); err != nil {
		return "", fmt.Errorf("client: request: %w", err)
	}
	if o.nonce != "" {
		r.Nonce = o.nonce
	}
	text, err := r.Text()
	if err == nil && o.nonce == "" && p.opts.State != nil {
		err = p.opts.State.write(requestPrefix+r.Nonce, "")
	}
	if err != nil {
		return "", fmt.Errorf("client: request: %w", err)
	}
	o.nonce = r.Nonce
	return text, nil
}

// findPending reads the request that waits in the state directory.
func (p *Program) findPending() (err error) {
	if p.opts.State != nil {
		p.offline.nonce, err = p.opts.State.pending()
	}
	return err
}

// admit verifies a text that is to be installed, and returns its file name, and
// whether it answers the request.
func (o *offline) admit(text string, opts ProgramOptions, now time.Time) (name string, answers bool, err error) {
	v := verify(o.keys, text)
	if v.err != nil {
		return "", false, v.err
	}
	if v.list != nil {
		err = v.list.Check(opts.ProductID, now)
		if err == nil && o.list != nil && o.keys.Newer(*o.list, *v.list) {
			err = errors.New("the program has a newer revocation list")
		}
		return strconv.FormatInt(v.list.Sequence, 10) + listExt, false, err
	}
	f := v.file
	want := o.expect(opts, *f, now)
	known := slices.ContainsFunc(o.kept, func(t storedText) bool { return strings.TrimSpace(t.text) == strings.TrimSpace(text) })
	if f.Nonce != "" && !known {
		want.Nonce = cmp.Or(o.nonce, "-") // without a request, it answers another one
	}
	if err = f.Check(want); errors.Is(err, licensefile.ErrEarly) {
		err = nil
	}
	return fileName(f.ID), f.Nonce != "" && f.Nonce == o.nonce, err
}

// prune removes the files that the one in use has replaced, and lists that the
// newest one has. The caller holds p.offline.mu.
func (p *Program) prune() {
	o := &p.offline
	if p.opts.State == nil {
		return
	}
	stored, _, err := p.opts.State.read()
	if err != nil {
		return // another installation will
	}
	for _, t := range stored {
		v := verify(o.keys, t.text)
		if f := v.file; f != nil && o.best != nil {
			replaced := f.LicenseID == o.best.LicenseID && f.FingerprintHash == o.best.FingerprintHash && f.ID != o.best.ID && preferred(f, o.best) == o.best
			left := o.license != "" && f.LicenseID != o.license && f.ProductID == p.opts.ProductID &&
				f.FingerprintHash == licensefile.FingerprintHash(f.LicenseID, p.opts.Fingerprint)
			if replaced || left {
				_ = os.Remove(t.name)
			}
		} else if l := v.list; l != nil && o.list != nil && l.ProductID == o.list.ProductID && o.keys.Newer(*o.list, *l) {
			_ = os.Remove(t.name)
		}
	}
}
