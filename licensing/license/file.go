package license

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// A File is a license file that was issued. Its text is empty: sign FileClaims
// with Handler.Files().Sign, after the Update has been committed.
type File struct {
	api.LicenseFile
	claims *licensefile.Claims
}

// FileClaims returns the claims of the file.
func (f File) FileClaims() *licensefile.Claims { return f.claims }

// A VerdictWithFile is a verdict with the license file that the call asked for.
type VerdictWithFile struct {
	api.Verdict
	claims *licensefile.Claims
}

// FileClaims returns the claims of the license file; nil: there is none. Sign them
// with Handler.Files().Sign, after the Update has been committed.
func (v VerdictWithFile) FileClaims() *licensefile.Claims { return v.claims }
