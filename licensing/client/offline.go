package client

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// errNoTrust is returned by Install without pinned keys.
var errNoTrust = errors.New("client: this program does not run from license files; set ProgramOptions.Trust")

// An offline is what a program that runs from license files knows. Its mutex
// makes scans and installations one after the other.
type offline struct {
	mu       sync.Mutex
	kept     []storedText // in memory: installed, or in use in the last scan
	keys     *licensefile.KeySet
	list     *licensefile.Revocations // the newest
	listText storedText
	floor    time.Time
	least    map[string]int64 // the highest generation seen, by license ID
	best     *licensefile.File
	nonce    string // of the request that waits for a file; empty: none

	clock trustedClock
}

// A trustedClock never moves back while the program runs. The clock of the
// machine can only move it forward.
type trustedClock struct {
	at      time.Time // of the last call, without a monotonic reading
	setBack bool      // the clock of the machine is more than a minute behind
}

// advance returns the time: that of the machine, or the last one plus the time
// that has passed since, if that is later.
func (c *trustedClock) advance(wall time.Time, passed time.Duration) time.Time {
	if expected := c.at.Add(passed); !c.at.IsZero() && wall.Before(expected) {
		c.setBack = expected.Sub(wall) > time.Minute
		wall = expected
	} else {
		c.setBack = false
	}
	c.at = wall
	return wall
}

// Install verifies the text of a license file or of a revocation list, which
// the user has pasted or brought along, and then stores it: in State, or
// without one in memory. The error says why the text was refused, such as
// licensefile.ErrSignature or licensefile.ErrExpired; then nothing has changed.
// A file that is not valid yet is stored, and used when its time comes. Status
// has the result at once.
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
	f, err := o.keys.Verify(text)
	if isList(err) {
		list, err := o.keys.VerifyRevocations(text)
		if err == nil {
			err = list.Check(opts.ProductID, now)
		}
		if err == nil && o.list != nil && o.keys.Newer(*o.list, list) {
			err = errors.New("the program has a newer revocation list")
		}
		return strconv.FormatInt(list.Sequence, 10) + listExt, false, err
	}
	if err == nil {
		want := o.expect(opts, f, now)
		known := slices.ContainsFunc(o.kept, func(t storedText) bool { return strings.TrimSpace(t.text) == strings.TrimSpace(text) })
		if f.Nonce != "" && !known {
			want.Nonce = cmp.Or(o.nonce, "-") // without a request, it answers another one
		}
		err = f.Check(want)
	}
	if errors.Is(err, licensefile.ErrEarly) {
		err = nil
	}
	return fileName(f.ID), f.Nonce != "" && f.Nonce == o.nonce, err
}

// isList reports whether a text that Verify refused may be a revocation list.
func isList(err error) bool {
	return errors.Is(err, licensefile.ErrType) || errors.Is(err, licensefile.ErrTooLarge)
}

func (o *offline) expect(opts ProgramOptions, f licensefile.File, now time.Time) licensefile.Expect {
	return licensefile.Expect{
		ProductID: opts.ProductID, Fingerprint: opts.Fingerprint, MinGeneration: o.least[f.LicenseID],
		Now: now, Floor: o.floor, Revocations: o.list,
	}
}

// rescan reads all license files again.
func (p *Program) rescan() {
	p.offline.mu.Lock()
	defer p.offline.mu.Unlock()
	p.scan()
}

// scan reads all license files and lists, publishes the status that follows,
// and returns the time. The caller holds p.offline.mu.
func (p *Program) scan() time.Time {
	o := &p.offline
	instant := time.Now()
	now := o.clock.advance(instant.Round(0), instant.Sub(p.scanned))
	p.scanned = instant

	texts, warnings := p.texts()
	var files []licensefile.File
	sources := map[string]storedText{} // by jti
	for _, t := range texts {
		f, err := p.opts.Trust.Verify(t.text) // Check refuses condemned keys
		if err == nil {
			files, sources[f.ID] = append(files, f), t
			continue
		}
		if isList(err) {
			err = o.meet(t, p.opts, now)
		}
		if err != nil {
			warnings = append(warnings, Reason{CodeFileSkipped, t.name + ": " + err.Error()})
		}
	}
	o.keys = p.opts.Trust
	if o.list != nil {
		o.keys = o.keys.Condemn(o.list.CondemnedKeys...)
		if err := o.list.Check(p.opts.ProductID, now); err != nil {
			warnings = append(warnings, Reason{CodeListStale, err.Error()})
		}
	}
	o.learn(files, p.opts, now, &warnings)

	var best, future, near *licensefile.File
	var nearErr error
	for i := range files {
		f := &files[i]
		switch err := f.Check(o.expect(p.opts, *f, now)); {
		case err == nil:
			best = preferred(best, f)
		case errors.Is(err, licensefile.ErrEarly):
			future = preferred(future, f)
			fallthrough
		default:
			if near = preferred(near, f); near == f {
				nearErr = err
			}
		}
	}
	// What is in use stays in memory, whatever happens to the directory.
	o.best, o.kept = best, nil
	for _, f := range []*licensefile.File{best, future} {
		if f != nil {
			o.kept = append(o.kept, sources[f.ID])
		}
	}
	if best == nil && near != nil {
		o.kept = append(o.kept, sources[near.ID])
	}
	if o.list != nil {
		o.kept = append(o.kept, o.listText)
	}
	if o.clock.setBack {
		warnings = append(warnings, Reason{CodeClockChanged, "The clock of this machine was set back while the program was running."})
	}
	p.publishFile(best, near, nearErr, now, instant, warnings)
	return now
}

// texts returns the texts of all license files and lists.
func (p *Program) texts() (texts []storedText, warnings []Reason) {
	o := &p.offline
	seen := map[string]bool{}
	add := func(t storedText) {
		if t.text != "" && !seen[t.text] {
			seen[t.text] = true
			texts = append(texts, t)
		}
	}
	if p.opts.State != nil {
		stored, floor, err := p.opts.State.read()
		if err != nil {
			warnings = append(warnings, Reason{CodeStateUnusable, err.Error()})
		}
		o.floor = later(o.floor, floor)
		for _, t := range stored {
			add(t)
		}
	}
	if p.opts.Files != nil {
		more, err := p.opts.Files()
		if err != nil {
			warnings = append(warnings, Reason{CodeStateUnusable, err.Error()})
		}
		for _, text := range more {
			add(storedText{"ProgramOptions.Files", text})
		}
	}
	for _, t := range o.kept {
		add(t)
	}
	return texts, warnings
}

// meet verifies the text of a revocation list, and keeps the newest.
func (o *offline) meet(t storedText, opts ProgramOptions, now time.Time) error {
	list, err := opts.Trust.VerifyRevocations(t.text)
	if err != nil {
		return err
	}
	if err := list.Check(opts.ProductID, now); err != nil && !errors.Is(err, licensefile.ErrStaleList) {
		return err
	}
	if o.list == nil || opts.Trust.Newer(list, *o.list) {
		o.list, o.listText = &list, t
	}
	return nil
}

// learn raises the floor and the generations to what files prove. A file that
// was issued within Leeway of the clock proves the time; one with a compromised
// key proves nothing.
func (o *offline) learn(files []licensefile.File, opts ProgramOptions, now time.Time, warnings *[]Reason) {
	o.least = map[string]int64{}
	for _, f := range files {
		if f.ProductID != opts.ProductID || o.list != nil && slices.Contains(o.list.CondemnedKeys, f.KeyID) {
			continue
		}
		if !f.NotBefore.After(now.Add(licensefile.Leeway)) {
			o.least[f.LicenseID] = max(o.least[f.LicenseID], f.Generation)
		}
		if now.Sub(f.IssuedAt).Abs() <= licensefile.Leeway && f.IssuedAt.After(o.floor) {
			o.floor = f.IssuedAt
			if opts.State != nil {
				if err := opts.State.writeFloor(o.floor); err != nil {
					*warnings = append(*warnings, Reason{CodeStateUnusable, err.Error()})
				}
			}
		}
	}
}

// preferred returns the file with the higher generation, or the later one.
func preferred(a, b *licensefile.File) *licensefile.File {
	if a == nil || cmp.Or(cmp.Compare(b.Generation, a.Generation), b.IssuedAt.Compare(a.IssuedAt)) > 0 {
		return b
	}
	return a
}

// publishFile makes the status follow from the best usable file or, without
// one, from why the nearest is not usable.
func (p *Program) publishFile(best, near *licensefile.File, why error, now, instant time.Time, warnings []Reason) {
	if best == nil {
		s := denied(Reason{CodeNoFile, "No license file is installed."})
		if near != nil {
			s = fileStatus(near, denied(Reason{fileCode(near, why), why.Error()}))
		}
		s.Warnings = warnings
		p.show(timeline{{status: s}})
		return
	}
	s := fileStatus(best, Status{Valid: true, Code: CodeValid, Reasons: []Reason{}, Warnings: warnings})
	local := func(t time.Time) time.Time { return instant.Add(t.Sub(now)) }
	ended := s
	ended.Valid, ended.Code = false, fileCode(best, licensefile.ErrExpired)
	ended.Reasons = []Reason{{ended.Code, "The license file expired at " + best.ExpiresAt.UTC().Format(time.RFC3339) + "."}}
	t := timeline{{until: local(best.ExpiresAt), status: s}, {status: ended}}
	if end := best.LicenseExpiresAt; !end.IsZero() && end.Before(best.ExpiresAt) {
		grace := s
		grace.Code = CodeInGrace
		t = timeline{{until: local(end), status: s}, {until: local(best.ExpiresAt), status: grace}, {status: ended}}
	}
	p.show(t)
}

// fileStatus adds what a file says to a status.
func fileStatus(f *licensefile.File, s Status) Status {
	s.LicenseID, s.ActivationID, s.Entitlements = f.LicenseID, f.ActivationID, f.Entitlements
	s.ExpiresAt, s.GraceUntil = f.LicenseExpiresAt, f.ExpiresAt
	s.Source, s.CheckedAt = SourceFile, f.IssuedAt
	return s
}

// fileCode returns the code of a status for why a file is not usable.
func fileCode(f *licensefile.File, why error) Code {
	switch {
	case errors.Is(why, licensefile.ErrProduct):
		return CodeProductMismatch
	case errors.Is(why, licensefile.ErrFingerprint):
		return CodeFingerprintChanged
	case errors.Is(why, licensefile.ErrRevoked):
		return CodeRevoked
	case errors.Is(why, licensefile.ErrClock):
		return CodeClockChanged
	case errors.Is(why, licensefile.ErrEarly):
		return CodeScheduled
	case errors.Is(why, licensefile.ErrExpired):
		if end := f.LicenseExpiresAt; !end.IsZero() && !end.After(f.ExpiresAt) {
			return CodeExpired
		}
		return CodeFileExpired
	}
	return CodeFileOutdated
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
		if f, err := o.keys.Verify(t.text); err == nil && o.best != nil {
			replaced := f.LicenseID == o.best.LicenseID && f.FingerprintHash == o.best.FingerprintHash && f.ID != o.best.ID
			if replaced && preferred(&f, o.best) == o.best {
				_ = os.Remove(t.name)
			}
		} else if l, err := o.keys.VerifyRevocations(t.text); err == nil && o.list != nil && l.ProductID == o.list.ProductID && o.keys.Newer(*o.list, l) {
			_ = os.Remove(t.name)
		}
	}
}
