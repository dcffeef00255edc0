package api

import (
	"strconv"
	"strings"
)

// A Version identifies the state of a license. It changes with every change
// of the record and when the passage of time changes the status. That of a plan
// has no Status.
type Version struct {
	Revision int64
	Status   LicenseStatus
}

// String returns v as in an ETag, such as "3.active".
func (v Version) String() string {
	if v.Status == "" {
		return strconv.FormatInt(v.Revision, 10)
	}
	return strconv.FormatInt(v.Revision, 10) + "." + string(v.Status)
}

// ETag returns v as a strong entity tag, in quotes.
func (v Version) ETag() string { return `"` + v.String() + `"` }

// ParseVersion parses the form of [Version.String]. It returns false for
// anything else, such as a leading zero or an unknown status.
func ParseVersion(s string) (v Version, ok bool) {
	revision, status, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil || n < 1 {
		return Version{}, false
	}
	v = Version{Revision: n, Status: LicenseStatus(status)}
	switch v.Status {
	case "", LicenseRevoked, LicenseSuspended, LicenseExpired, LicenseScheduled, LicenseActive:
		if v.String() == s {
			return v, true
		}
	}
	return Version{}, false
}
