package program

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// Request returns the text with which the user of a machine without a network asks
// the vendor for a license file: at most 400 characters, which fit into a QR code,
// for a fingerprint of up to 128 bytes. The file that answers it carries its nonce,
// and Install refuses a file that answers another request. The nonce stays the same
// until a file is installed.
func (l *License) Request() (text string, err error) {
	if l.isFixed() {
		return "", l.fails(CodeNoService, errFixed)
	}
	if l.fingerprint == "" {
		return "", l.fails(CodeFingerprintRequired, l.idError)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := licensefile.NewRequest(l.key, l.seatOf(l.product))
	if nonce := l.pending(); nonce != "" {
		r.Nonce = nonce
	}
	text, err = r.Text()
	if err != nil {
		return "", l.fails(CodeInvalidOption, fmt.Errorf("program: request: %w", err))
	}
	if l.nonce != r.Nonce {
		l.nonce, l.unsaved[requestName] = r.Nonce, r.Nonce
		l.save()
	}
	return text, nil
}

// pending returns the nonce of the request that waits for a file. The caller holds
// l.mu.
func (l *License) pending() string {
	if l.nonce == "" {
		l.nonce, _ = l.disk.read(requestName) // without it, there is a new request
	}
	return l.nonce
}

// Install verifies the text of a license file or of a revocation list, which the
// user has pasted or brought along, and uses it afterwards. It is stored in Dir. What mail
// programs and editors add is ignored, as by [licensefile.Pasted]. The error is an [*Error]
// that says why the text is refused, and whose cause is an error of package licensefile, such
// as licensefile.ErrExpired; then nothing has changed.
func (l *License) Install(text string) error {
	if l.isFixed() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	err := l.install(licensefile.Pasted(text))
	l.judge()
	l.poke()
	if err != nil {
		if slices.ContainsFunc(damages, func(damage error) bool { return errors.Is(err, damage) }) {
			err = damaged{err}
		}
		e := FileError(fmt.Errorf("program: install: %w", err))
		e.Status = l.Status()
		return e
	}
	return nil
}

// damages are the errors of a text of which a part is missing or was changed.
var damages = []error{
	licensefile.ErrTruncated, licensefile.ErrEncoding, licensefile.ErrMalformed, licensefile.ErrDuplicate,
	licensefile.ErrType, licensefile.ErrTooLarge, licensefile.ErrSignature,
}

// A damaged error says what a user can do.
type damaged struct{ error }

func (d damaged) Error() string { return "not a whole license file; copy it again" }
func (d damaged) Unwrap() error { return d.error }

func (l *License) install(text string) error {
	f, err := l.keys.Verify(text)
	if errors.Is(err, licensefile.ErrType) || errors.Is(err, licensefile.ErrTooLarge) {
		return l.installList(text)
	}
	if err == nil {
		err = l.usable(f)
	}
	if err != nil {
		return err
	}
	installed := l.file != nil && l.file.ID == f.ID
	answers := f.Nonce != "" && f.Nonce == l.pending()
	switch {
	case f.Nonce != "" && !answers && !installed:
		return licensefile.ErrNonce
	case !answers && !installed && l.file != nil && l.file.LicenseID == f.LicenseID && !l.replaces(f):
		return errors.New("a newer license file is installed")
	}
	if answers {
		l.denial, l.nonce, l.unsaved[requestName] = nil, "", ""
	}
	l.adopt(f)
	l.keep(text)
	return nil
}

func (l *License) installList(text string) error {
	old := l.listText
	if err := l.takeList(text); err != nil {
		return err
	}
	if l.listText == old && text != old {
		return errors.New("a newer revocation list is installed")
	}
	l.listError, l.listAt = nil, time.Now()
	l.unsaved[listName] = l.listText
	l.save()
	return nil
}
