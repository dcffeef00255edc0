package client

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// Metrics returns the status in the text format of Prometheus, for the
// monitoring of the customer:
//
//   - licensekit_license_valid: 1 or 0
//   - licensekit_license_status{code,source}: 1 for the present code and source
//   - licensekit_license_expires_seconds: how long the license stays valid,
//     with its grace period; absent if it does not expire
//   - licensekit_license_last_check_timestamp_seconds: the Unix time of the last
//     answer; absent if there was none
func (p *Program) Metrics() string {
	s := p.Status()
	var b strings.Builder
	gauge := func(name, help, labels string, v float64) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n%s%s %g\n", name, help, name, name, labels, v)
	}
	valid := 0.0
	if s.Valid {
		valid = 1
	}
	gauge("licensekit_license_valid", "Whether the license is valid.", "", valid)
	gauge("licensekit_license_status", "The present status of the license.", fmt.Sprintf("{code=%q,source=%q}", s.Code, s.Source), 1)
	if !s.GraceUntil.IsZero() {
		gauge("licensekit_license_expires_seconds", "Seconds until the license stops being valid.", "", max(0, time.Until(s.GraceUntil).Round(time.Second).Seconds()))
	}
	if !s.CheckedAt.IsZero() {
		gauge("licensekit_license_last_check_timestamp_seconds", "Unix time of the last answer.", "", float64(s.CheckedAt.Unix()))
	}
	return b.String()
}

// Report returns the status as text for a support ticket. It does not contain
// the license key.
func (p *Program) Report() string {
	s := p.Status()
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s %s\n", name+":", fmt.Sprintf(format, args...))
	}
	instant := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.UTC().Format(time.RFC3339)
	}
	line("time", "%s", instant(time.Now()))
	line("valid", "%t", s.Valid)
	line("code", "%s", s.Code)
	for _, r := range s.Reasons {
		line("reason", "%s: %s", r.Code, r.Detail)
	}
	for _, r := range s.Warnings {
		line("warning", "%s: %s", r.Code, r.Detail)
	}
	line("expires at", "%s", instant(s.ExpiresAt))
	line("grace until", "%s", instant(s.GraceUntil))
	line("checked at", "%s", instant(s.CheckedAt))
	if s.CheckError != nil {
		line("check error", "%v", s.CheckError)
	}
	line("license", "%s", s.LicenseID)
	line("activation", "%s", s.ActivationID)
	if !p.isFixed() {
		line("product", "%s", p.opts.ProductID)
		line("fingerprint", "%s", p.opts.Fingerprint)
	}
	if p.opts.Trust != nil {
		line("keys", "%s", strings.Join(p.opts.Trust.IDs(), " "))
	}
	if p.api != nil {
		p.mu.Lock()
		next, hasKey := p.next, p.key != ""
		p.mu.Unlock()
		line("service", "%s", p.api.base)
		line("license key", "%s", map[bool]string{true: "set", false: "not set"}[hasKey])
		line("next check", "%s", instant(next))
	}
	line("system", "%s/%s %s", runtime.GOOS, runtime.GOARCH, runtime.Version())
	return b.String()
}
