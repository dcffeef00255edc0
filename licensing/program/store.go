package program

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// A storedFile is the contents of licenseName. The digest of the license key says
// which key the file is of: with another one, it does not count.
type storedFile struct {
	File string `json:"file"`
	Key  string `json:"key"` // a licensefile.KeyHash; empty: installed without a key
}

// A denial is the contents of denialName: the service has denied the license. Only
// a newer license file ends it.
type denial struct {
	Code      api.Code  `json:"code"`
	Reason    string    `json:"reason,omitempty"`
	LicenseID string    `json:"license_id,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // of the license
	Key       string    `json:"key"`                 // as in storedFile
	Since     time.Time `json:"since"`               // files that were issued later are newer

	UpdatesUntil time.Time `json:"-"` // a denial for that reason is not stored
}

// latestClock is the beginning of the year 9999, the last whose times have a JSON form. A
// stored time after it is damaged.
const latestClock = 253370764800

// load reads Options.Dir. What another process has written since the last time
// counts if it is newer. The caller holds l.mu.
func (l *License) load() {
	l.dirError = l.idError
	read := func(name string) string {
		if !l.isShared(name) {
			return ""
		}
		text, err := l.disk.read(name)
		if err != nil {
			l.dirError = err
		}
		return text
	}
	if _, pending := l.unsaved[keyName]; l.opts.Key == "" && !pending {
		if key := read(keyName); key != "" && key != l.key {
			l.key, l.file, l.denial = key, nil, nil
			l.setProduct(l.opts.ProductID)
		}
	}
	if seconds, err := strconv.ParseInt(read(clockName), 10, 64); err == nil && seconds < latestClock {
		l.clock.raise(time.Unix(seconds, 0))
	}
	var f storedFile
	var file licensefile.File
	err := json.Unmarshal([]byte(read(licenseName)), &f)
	if err == nil {
		file, err = l.verifyStored(f.File)
	}
	mine := err == nil && f.Key == l.digest()
	if mine && l.file == nil {
		l.setProduct(l.productOf(file)) // that of the list
	}
	if text := read(listName); text != "" && text != l.listText {
		_ = l.takeList(text) // one that does not count any more is replaced
	}
	if mine && l.replaces(file) {
		l.adopt(file)
	}
	var shown display
	if _, pending := l.unsaved[displayName]; !pending && json.Unmarshal([]byte(read(displayName)), &shown) == nil && shown.Key == l.digest() {
		l.display = shown
	}
	var d denial
	if json.Unmarshal([]byte(read(denialName)), &d) == nil && d.Code != "" && d.Key == l.digest() && l.denial == nil &&
		(l.file == nil || !l.file.IssuedAt.After(d.Since)) {
		l.denial = &d
	}
}

// digest returns the digest of the license key.
func (l *License) digest() string { return licensefile.KeyHash(l.key) }

// verifyStored verifies a stored file, unless it is the one that was verified last: most looks at
// Dir find the same. The caller holds l.mu.
func (l *License) verifyStored(text string) (licensefile.File, error) {
	if text == "" || text != l.verifiedText {
		file, err := l.keys.Verify(text)
		if err != nil {
			return file, err
		}
		l.verifiedText, l.verified = text, file
	}
	return l.verified, nil
}

// replaces reports whether a file replaces the one in use.
func (l *License) replaces(f licensefile.File) bool {
	old := l.file
	switch {
	case old == nil || l.condemned(*old):
		return true
	case f.LicenseID == old.LicenseID && f.Generation != old.Generation:
		return f.Generation > old.Generation
	}
	return f.IssuedAt.After(old.IssuedAt)
}

// lent reports whether an office signed the file in use. It passes on the revocation
// list that came with its own file, which is not out of date before that expires. The
// caller holds l.mu.
func (l *License) lent() bool { return l.file != nil && l.file.Lender != nil }

// vouched returns when the vendor issued a file or, if an office signed it, the file
// of the office.
func vouched(f licensefile.File) time.Time {
	if f.Lender != nil {
		return f.Lender.IssuedAt
	}
	return f.IssuedAt
}

// adopt makes a file the one in use. It proves that the time at which the vendor
// issued it has passed, unless its key is compromised. The caller holds l.mu.
func (l *License) adopt(f licensefile.File) {
	l.setProduct(l.productOf(f))
	l.file = &f
	if !l.condemned(f) {
		l.clock.raise(vouched(f))
	}
	if l.denial != nil && f.IssuedAt.After(l.denial.Since) {
		l.denial = nil
	}
}

// condemned reports whether the revocation list says that the key of a file is
// compromised.
func (l *License) condemned(f licensefile.File) bool {
	return l.revoked != nil && slices.Contains(l.revoked.CondemnedKeys, f.KeyID)
}

// usable returns why a file does not count now; nil: it does. The caller holds
// l.mu.
func (l *License) usable(f licensefile.File) error {
	want := licensefile.Expect{
		BuiltAt: l.opts.BuiltAt, Now: l.clock.now(), Floor: l.clock.certain(), Revocations: l.revoked,
	}
	if list := l.revoked; list != nil && (vouched(f).After(list.IssuedAt) || !list.Covers(f.LicenseID)) {
		// The list is from before the license was reinstated, or about another one.
		want.Revocations = &licensefile.Revocations{ProductID: list.ProductID, CondemnedKeys: list.CondemnedKeys}
	}
	return l.check(f, want)
}

// keep stores a file that has been adopted, and removes the denial that it ended.
// The caller holds l.mu.
func (l *License) keep(text string) {
	stored, err := json.Marshal(storedFile{text, l.digest()})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	l.unsaved[licenseName] = string(stored)
	if l.denial == nil {
		l.unsaved[denialName] = ""
	}
	l.save()
}

// deny stores a denial. The caller holds l.mu.
func (l *License) deny(d denial) {
	d.Key, d.Since = l.digest(), l.latest()
	if l.denial != nil && l.denial.Code == d.Code && l.denial.Reason == d.Reason && l.denial.Key == d.Key {
		return
	}
	l.denial = &d
	if d.Code == api.VerdictUpdatesEnded {
		return // it is about this build; an older one with the same directory keeps running
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // strings and times of this era can always be encoded
	}
	l.unsaved[denialName] = string(text)
	l.save()
}

// latest returns the latest time that is certain.
func (l *License) latest() time.Time {
	t := l.clock.certain()
	if l.file != nil && l.file.IssuedAt.After(t) {
		t = l.file.IssuedAt
	}
	return t
}

// save writes what is not in the directory yet; an empty text removes the file. It
// is tried again until it succeeds. The caller holds l.mu.
func (l *License) save() {
	for name, text := range l.unsaved {
		var err error
		switch {
		case !l.isShared(name):
		case text == "":
			err = l.disk.remove(name)
		default:
			err = l.disk.write(name, text)
		}
		if err != nil {
			l.dirError = err
			continue
		}
		delete(l.unsaved, name)
	}
}

// saveClock stores the floor of the clock, so that the time which the program ran
// cannot be used again. The caller holds l.mu.
func (l *License) saveClock() {
	if floor := l.clock.certain(); floor.Sub(l.floorSaved) >= time.Minute {
		l.unsaved[clockName] = strconv.FormatInt(floor.Unix(), 10)
		l.save()
		l.floorSaved = floor
	}
}
