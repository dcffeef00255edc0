package client

import (
	"strings"
	"time"
)

// A Status reports whether the license of a program is valid at the moment of
// the call. Programs share its slices and its map: do not change them.
type Status struct {
	// Valid reports whether the program may run.
	Valid bool
	// Code is [CodeValid] or [CodeInGrace] if Valid. Otherwise it says why not:
	// the code of a verdict, [CodeUnreachable], [CodeNoKey], or a code of
	// license files, such as [CodeNoFile].
	Code Code
	// Reasons is everything that makes the license invalid.
	Reasons []Reason

	ExpiresAt  time.Time // zero: never, or unknown
	GraceUntil time.Time // when an expiring license stops being valid

	// Entitlements are those of the license, valid or not. Values are true, a
	// float64 or a string. [Program.Has] also checks Valid.
	Entitlements map[string]any

	LicenseID    string // empty: unknown
	ActivationID string // empty: not activated, or unknown

	Source    Source    // of the answer that counts; empty: none yet
	CheckedAt time.Time // when that answer arrived, by the local clock, or the file was issued

	// CheckError is why the last check got no answer of the service: an
	// [*Error], or an error of the connection. Nil: it got one.
	CheckError error

	// Warnings do not make the license invalid: [CodeUnreachable],
	// [CodeNotFound], [CodeClockChanged], [CodeFileSkipped], [CodeListStale],
	// [CodeStateUnusable], [CodeUntrusted] or why the license allows no file, such
	// as [CodeFileTooLarge], with what happened.
	Warnings []Reason
}

// A Source is where a [Status] comes from.
type Source string

// The sources of a status.
const (
	SourceOnline Source = "online" // an answer of the service
	SourceFile   Source = "file"   // a license file
)

// Err returns nil if the status is valid, otherwise a [*StatusError].
func (s Status) Err() error {
	if s.Valid {
		return nil
	}
	return &StatusError{s}
}

// A StatusError is the status of a license that is not valid, as an error.
// errors.Is finds the codes of all its reasons.
type StatusError struct{ Status Status }

// Error returns the reasons in one line.
func (e *StatusError) Error() string {
	text := "license not valid: " + string(e.Status.Code)
	var details []string
	for _, r := range e.Status.Reasons {
		details = append(details, r.Detail)
	}
	if len(details) > 0 {
		text += ": " + strings.Join(details, " ")
	}
	if e.Status.CheckError != nil {
		text += " " + e.Status.CheckError.Error()
	}
	return text
}

// Unwrap returns the CheckError of the status.
func (e *StatusError) Unwrap() error { return e.Status.CheckError }

// Is reports whether target is a Code of the status or of one of its reasons.
func (e *StatusError) Is(target error) bool {
	code, ok := target.(Code)
	if !ok {
		return false
	}
	for _, r := range e.Status.Reasons {
		if r.Code == code {
			return true
		}
	}
	return code == e.Status.Code
}

// A phase is a status and when it ends, if no answer arrives before.
type phase struct {
	until  time.Time     // with a monotonic reading; zero: never
	ends   time.Duration // until, since Program.start; 0: never
	status Status
}

// A timeline is the status from now on, if no answer arrives: one phase or
// more, of which the last has no end.
type timeline []phase

// at returns the phase at a time since Program.start. It is much faster to get
// than the time of the clock.
func (t timeline) at(now time.Duration) *phase {
	for i := range t {
		if t[i].ends == 0 || now < t[i].ends {
			return &t[i]
		}
	}
	return &t[len(t)-1]
}

// denied returns a status that is not valid.
func denied(reasons ...Reason) Status { return Status{Code: reasons[0].Code, Reasons: reasons} }

// An answer is a verdict, and when it arrived.
type answer struct {
	verdict Verdict
	at      time.Time     // local, with a monotonic reading
	ahead   time.Duration // of the local clock, compared with that of the service
	refused *Reason       // with Trust: why a valid license allows no file
}

// status returns the status of the verdict at the time of its arrival.
func (a answer) status(warnings []Reason) Status {
	v := a.verdict
	s := Status{
		Valid: v.Valid, Code: v.Code, Reasons: v.Reasons,
		Source: SourceOnline, CheckedAt: a.at.Round(0), Warnings: warnings,
	}
	if l := v.License; l != nil {
		s.LicenseID, s.Entitlements = l.ID, l.Entitlements
		if l.ExpiresAt != nil {
			s.ExpiresAt = *l.ExpiresAt
			s.GraceUntil = l.ExpiresAt.Add(time.Duration(l.GraceSeconds) * time.Second)
		}
	}
	if v.Activation != nil && v.Activation.Status == ActivationLive {
		s.ActivationID = v.Activation.ID
	}
	return s
}

// timeline returns what follows from the answer. A valid one counts for
// offline, and at least until the next check; then the status has the reason
// after. What the machine slept is time that the monotonic clock did not count.
func (a answer) timeline(offline, slept time.Duration, after Reason, warnings []Reason) timeline {
	now := a.status(warnings)
	if !now.Valid {
		return timeline{{status: now}}
	}
	var phases timeline
	if !now.ExpiresAt.IsZero() {
		expired := now
		expired.Valid, expired.Code = false, CodeExpired
		expired.Reasons = []Reason{{Code: CodeExpired, Detail: "The license expired at " + now.ExpiresAt.UTC().Format(time.RFC3339) + "."}}
		grace := now
		grace.Code = CodeInGrace
		phases = timeline{
			{until: a.local(now.ExpiresAt, slept), status: now}, {until: a.local(now.GraceUntil, slept), status: grace}, {status: expired},
		}
		if now.Code == CodeInGrace {
			phases = phases[1:]
		}
	} else {
		phases = timeline{{status: now}}
	}
	// Without another answer, the end of offline replaces what is valid then.
	end := a.at.Add(max(offline, a.recheck()+time.Minute) - slept)
	for i, p := range phases {
		if p.status.Valid && (p.until.IsZero() || end.Before(p.until)) {
			lost := p.status
			lost.Valid, lost.Code, lost.Reasons = false, after.Code, []Reason{after}
			return append(phases[:i:i], phase{until: end, status: p.status}, phase{status: lost})
		}
	}
	return phases
}

// recheck returns how long after the answer to ask again.
func (a answer) recheck() time.Duration {
	return min(max(1, time.Duration(a.verdict.RecheckAfter)), 24*60*60) * time.Second
}

// local returns an instant of the service by the local, monotonic clock.
func (a answer) local(t time.Time, slept time.Duration) time.Time {
	serverNow := a.at.Round(0).Add(-a.ahead)
	return a.at.Add(t.Sub(serverNow) - slept)
}
