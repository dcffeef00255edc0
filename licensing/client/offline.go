package client

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// An offline is what a program that runs from license files knows. Its mutex
// makes scans and installations one after the other.
type offline struct {
	mu       sync.Mutex
	kept     []storedText        // in memory: installed, or in use in the last scan
	verified map[string]verified // by text, of the last scan
	keys     *licensefile.KeySet
	list     *licensefile.Revocations // the newest
	listText storedText
	floor    time.Time
	least    map[string]int64 // the highest generation seen, by license ID
	best     *licensefile.File
	nonce    string // of the request that waits for a file; empty: none
	license  string // the ID of the only license that counts, from the service; empty: any
	unsaved  error  // why the last text is not in State
	unlisted error  // why the last revocation list of the service does not count

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
	seen := make(map[string]verified, len(texts))
	for _, t := range texts {
		v := o.verify(p.opts.Trust, t.text)
		seen[t.text] = v
		err := v.err
		switch {
		case v.file != nil:
			files, sources[v.file.ID] = append(files, *v.file), t
		case v.list != nil:
			err = o.meet(*v.list, t, p.opts, now)
		}
		if err != nil {
			warnings = append(warnings, Reason{Code: CodeFileSkipped, Detail: t.name + ": " + err.Error()})
		}
	}
	o.verified, o.keys = seen, p.opts.Trust
	if o.list != nil {
		o.keys = o.keys.Condemn(o.list.CondemnedKeys...)
		if err := o.list.Check(p.opts.ProductID, now); err != nil {
			warnings = append(warnings, Reason{Code: CodeListStale, Detail: err.Error()})
		}
	}
	if o.unlisted != nil {
		warnings = append(warnings, Reason{Code: CodeFileSkipped, Detail: "the revocation list of the service: " + o.unlisted.Error()})
	}
	o.learn(files, p.opts, now, &warnings)

	best, future, near, why := o.choose(files, p.opts, now)
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
	if o.listTooOld(p.opts.MaxListAge, now) && best != nil {
		best, near, why = nil, best, licensefile.ErrStaleList
	}
	if o.clock.setBack {
		warnings = append(warnings, Reason{Code: CodeClockChanged, Detail: "The clock of this machine was set back while the program was running."})
	}
	p.publishFile(best, near, why, now, instant, warnings)
	return now
}

// choose returns the best usable file, the best file that is not valid yet, and
// the best of all unusable files, with the reason that it is not usable.
func (o *offline) choose(files []licensefile.File, opts ProgramOptions, now time.Time) (best, future, near *licensefile.File, why error) {
	for i := range files {
		f := &files[i]
		if o.license != "" && f.LicenseID != o.license {
			continue
		}
		switch err := f.Check(o.expect(opts, *f, now)); {
		case err == nil:
			best = preferred(best, f)
		case errors.Is(err, licensefile.ErrEarly):
			future = preferred(future, f)
			fallthrough
		default:
			if near = preferred(near, f); near == f {
				why = err
			}
		}
	}
	return best, future, near, why
}

// listTooOld reports whether the newest revocation list is too old for license
// files to count. 0: no list is.
func (o *offline) listTooOld(limit time.Duration, now time.Time) bool {
	return limit > 0 && (o.list == nil || now.Sub(o.list.IssuedAt) > limit)
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
			warnings = append(warnings, Reason{Code: CodeStateUnusable, Detail: err.Error()})
		}
		o.floor = later(o.floor, floor)
		for _, t := range stored {
			add(t)
		}
	}
	if o.unsaved != nil {
		warnings = append(warnings, Reason{Code: CodeStateUnusable, Detail: o.unsaved.Error()})
	}
	if p.opts.Files != nil {
		more, err := p.opts.Files()
		if err != nil {
			warnings = append(warnings, Reason{Code: CodeStateUnusable, Detail: err.Error()})
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

// A verified is a text whose signature was checked: a license file, a revocation
// list, or neither. The keys never change, so once is enough.
type verified struct {
	file *licensefile.File
	list *licensefile.Revocations
	err  error
}

// verify verifies a text with the pinned keys, unless the last scan did.
func (o *offline) verify(pinned *licensefile.KeySet, text string) verified {
	if v, known := o.verified[text]; known {
		return v
	}
	return verify(pinned, text)
}

// verify does not refuse condemned keys; the checks of files and lists do.
func verify(keys *licensefile.KeySet, text string) verified {
	f, err := keys.Verify(text)
	if err == nil {
		return verified{file: &f}
	}
	if errors.Is(err, licensefile.ErrType) || errors.Is(err, licensefile.ErrTooLarge) {
		var list licensefile.Revocations
		if list, err = keys.VerifyRevocations(text); err == nil {
			return verified{list: &list}
		}
	}
	return verified{err: err}
}

// meet keeps the newest revocation list.
func (o *offline) meet(list licensefile.Revocations, t storedText, opts ProgramOptions, now time.Time) error {
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
					*warnings = append(*warnings, Reason{Code: CodeStateUnusable, Detail: err.Error()})
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
