package program

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// judge makes the status follow from what is known: it is valid only with a
// license file that counts, and no later denial. The caller holds l.mu.
func (l *License) judge() {
	s := Status{CheckedAt: l.checkedAt, Warnings: l.warnings()}
	if f := l.file; f != nil {
		s.LicenseID, s.LicensedTo, s.Entitlements, s.ExpiresAt, s.UpdatesUntil = f.LicenseID, f.Name, f.Entitlements, f.LicenseExpiresAt, f.UpdatesUntil
	}
	l.displayed(&s, l.clock.now())
	var t timeline
	if d := l.denial; d != nil {
		s.Code, s.Reason, s.LicenseID, s.ExpiresAt, s.UpdatesUntil = d.Code, d.Reason, d.LicenseID, d.ExpiresAt, d.UpdatesUntil
	} else if l.file == nil {
		s.Code = l.withoutFile()
		if s.Code == CodeUnreachable {
			s.sentence = unreached(l.failed)
		}
	} else if err := l.usable(*l.file); err != nil {
		s.Code = l.fileCode(*l.file, err)
	} else {
		t = l.lasting(s)
	}
	if t == nil {
		t = timeline{{status: s}}
	}
	l.now.Store(&t)
}

// lasting returns the timeline of the file in use, which counts.
func (l *License) lasting(s Status) timeline {
	f, now, start := l.file, l.clock.now(), time.Since(l.start)
	until := func(t time.Time) time.Duration { return max(1, start+t.Sub(now)) }
	ended := s
	ended.Code = l.fileCode(*f, licensefile.ErrExpired)
	s.Valid, s.Code, s.ValidUntil = true, api.VerdictValid, f.ExpiresAt
	t := timeline{{until(f.ExpiresAt), s}, {0, ended}}
	if end := f.LicenseExpiresAt; !end.IsZero() && end.Before(f.ExpiresAt) {
		grace := s
		grace.Code = api.VerdictInGrace
		t = timeline{{until(end), s}, {until(f.ExpiresAt), grace}, {0, ended}}
	}
	return t
}

// withoutFile returns the code of a program that has no license file.
func (l *License) withoutFile() api.Code {
	switch {
	case l.opts.URL == "":
		return CodeNoFile
	case l.key == "":
		return CodeNoKey
	case l.fingerprint == "":
		return CodeFingerprintRequired
	case l.unknown:
		return api.VerdictNotFound
	case l.refused != nil:
		return l.refused.Code
	case errors.Is(l.failed, errUntrusted):
		return CodeUntrusted
	}
	return CodeUnreachable
}

// fileCode returns the code for why a file does not count.
func (l *License) fileCode(f licensefile.File, why error) api.Code {
	switch code := FileError(why).Code; code {
	case CodeFileExpired:
		if end := f.LicenseExpiresAt; !end.IsZero() && !end.After(f.ExpiresAt) {
			return api.VerdictExpired
		}
		switch {
		case l.unknown:
			return api.VerdictNotFound
		case l.refused != nil:
			return l.refused.Code
		}
		return code
	case api.VerdictProductMismatch, CodeFingerprintChanged, api.VerdictRevoked, CodeClockChanged, api.VerdictUpdatesEnded, api.VerdictScheduled:
		return code
	}
	return CodeFileOutdated
}

// warnings returns what does not make the license invalid.
func (l *License) warnings() (all []Warning) {
	warn := func(code api.Code, detail string) { all = append(all, Warning{code, detail}) }
	switch {
	case errors.Is(l.failed, errUntrusted):
		warn(CodeUntrusted, l.failed.Error())
	case l.failed != nil:
		why := cmp.Or(strings.TrimSuffix(unreached(l.failed), "."), "The licensing service cannot be reached")
		warn(CodeUnreachable, why+": "+l.failed.Error())
	case l.unknown:
		warn(api.VerdictNotFound, messages[api.VerdictNotFound])
	case l.refused != nil:
		warn(l.refused.Code, "The service issues no license file: "+l.refused.Detail)
	}
	if l.fault != nil {
		warn(api.CodeInternal, "A part of the program failed while it checked the license, and is tried again: "+l.fault.Error())
	}
	if l.clock.moved() < -jump {
		warn(CodeClockChanged, "The clock of this machine was set back while the program was running.")
	}
	if l.listError != nil {
		warn(CodeListRefused, "The revocation list does not count: "+l.listError.Error())
	}
	if l.revoked != nil && !l.lent() {
		if err := l.revoked.Check(l.product, l.clock.now()); errors.Is(err, licensefile.ErrStaleList) {
			warn(CodeListStale, err.Error())
		}
	}
	if l.dirError != nil {
		warn(CodeDirUnusable, l.dirError.Error())
	}
	return all
}
