package client

import (
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// publishFile makes the status follow from the best usable file or, without
// one, from why the nearest is not usable.
func (p *Program) publishFile(best, near *licensefile.File, why error, now, instant time.Time, warnings []Reason) {
	if best == nil {
		s := denied(Reason{Code: CodeNoFile, Detail: "No license file is installed."})
		if near != nil {
			s = fileStatus(near, denied(Reason{Code: fileCode(near, why), Detail: why.Error()}))
		}
		s.Warnings = warnings
		p.publishFiles(fileState{timeline{{status: s}}, nil, near != nil})
		return
	}
	s := fileStatus(best, Status{Valid: true, Code: CodeValid, Reasons: []Reason{}, Warnings: warnings})
	local := func(t time.Time) time.Time { return instant.Add(t.Sub(now)) }
	ended := s
	ended.Valid, ended.Code = false, fileCode(best, licensefile.ErrExpired)
	ended.Reasons = []Reason{{Code: ended.Code, Detail: "The license file expired at " + best.ExpiresAt.UTC().Format(time.RFC3339) + "."}}
	t := timeline{{until: local(best.ExpiresAt), status: s}, {status: ended}}
	if end := best.LicenseExpiresAt; !end.IsZero() && end.Before(best.ExpiresAt) {
		grace := s
		grace.Code = CodeInGrace
		t = timeline{{until: local(end), status: s}, {until: local(best.ExpiresAt), status: grace}, {status: ended}}
	}
	p.publishFiles(fileState{t, best, true})
}

func (p *Program) publishFiles(s fileState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.file = s
	p.publish()
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
	case errors.Is(why, licensefile.ErrStaleList):
		return CodeListStale
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
