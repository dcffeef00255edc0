package program

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// The codes of a [Status], beside those of a verdict of the service, such as
// [api.VerdictExpired]. A code of a valid license is [api.VerdictValid] or
// [api.VerdictInGrace].
const (
	CodeNoKey               api.Code = "no_key"               // no license key is set; see [License.SetKey] and [License.Link]
	CodeNoFile              api.Code = "no_file"              // without Options.URL: no license file is installed
	CodeUnreachable         api.Code = "unreachable"          // the service has not answered, and there is no license file; also a warning
	CodeUntrusted           api.Code = "untrusted"            // the service answered without a license file that Options.Keys verify; also a warning
	CodeFileExpired         api.Code = "file_expired"         // the license file has expired, the license has not
	CodeFileOutdated        api.Code = "file_outdated"        // the license or its key has changed since the license file was issued
	CodeFingerprintRequired api.Code = "fingerprint_required" // the machine has no ID, and Options.Dir cannot keep one
	CodeFingerprintChanged  api.Code = "fingerprint_changed"  // the license file is for another machine; see [License.SetKey]
	CodeClockChanged        api.Code = "clock_changed"        // the clock of the machine is before a time that is certain; as a warning: it was set back
)

// The codes that are only warnings, beside [api.CodeInternal]: a part of the checks
// panicked, and is tried again.
const (
	CodeListRefused api.Code = "list_refused" // the service sent no revocation list that counts
	CodeListStale   api.Code = "list_stale"   // the revocation list is more than a week old
	CodeDirUnusable api.Code = "dir_unusable" // Options.Dir cannot be read or written, so a restart needs the service
)
