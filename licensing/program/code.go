package program

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// The codes of a [Status] and of an [Error], beside those of the service, such as
// [api.VerdictExpired], [api.VerdictUsageLimit] or [api.CodeSeatHeld]. A code of a valid
// license is [api.VerdictValid] or [api.VerdictInGrace].
const (
	// Why a license is not valid:

	CodeNoKey               api.Code = "no_key"               // no license key is set; see [License.SetKey] and [License.Link]
	CodeNoFile              api.Code = "no_file"              // without Options.URL: no license file is installed
	CodeUnreachable         api.Code = "unreachable"          // the service has not answered, and there is no license file; also a warning
	CodeUntrusted           api.Code = "untrusted"            // the service answered without a license file that Options.Keys verify; also a warning
	CodeFileExpired         api.Code = "file_expired"         // the license file has expired, the license has not
	CodeFileOutdated        api.Code = "file_outdated"        // the license or its key has changed since the license file was issued
	CodeFingerprintRequired api.Code = "fingerprint_required" // the machine has no ID, and Options.Dir cannot keep one
	CodeFingerprintChanged  api.Code = "fingerprint_changed"  // the license file is for another machine; see [License.SetKey]
	CodeClockChanged        api.Code = "clock_changed"        // the clock of the machine is before a time that is certain; as a warning: it was set back

	// Why a call had no effect, of an Error only:

	CodeInvalidOption    api.Code = "invalid_option"     // an option of Open is invalid; the error names it
	CodeNoService        api.Code = "no_service"         // the call needs Options.URL, and not the license of Fixed; see [License.Install]
	CodeTimeout          api.Code = "timeout"            // the context ended by its deadline, before an answer
	CodeCanceled         api.Code = "canceled"           // the context was canceled before an answer
	CodeClosed           api.Code = "closed"             // Close was called
	CodeFileUnreadable   api.Code = "file_unreadable"    // the text is not a whole license file or revocation list
	CodeFileUntrusted    api.Code = "file_untrusted"     // the text was altered, or Options.Keys do not verify it
	CodeFileOtherRequest api.Code = "file_other_request" // the license file answers another request than the last one
	CodeFileRefused      api.Code = "file_refused"       // the text cannot be used here: a newer one is installed, for example

	// Only warnings, beside [api.CodeInternal], which says that a part of the checks panicked
	// and is tried again. CodeDirUnusable is also the code of an Error of Release, and
	// CodeListStale of one of Install:

	CodeListRefused api.Code = "list_refused" // the service sent no revocation list that counts
	CodeListStale   api.Code = "list_stale"   // the revocation list is more than a week old
	CodeDirUnusable api.Code = "dir_unusable" // Options.Dir cannot be read or written, so a restart needs the service
)
