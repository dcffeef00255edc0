package program

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/dates"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// Message returns the status as one sentence for the user, with the last day
// that matters, in local time, and the reason that the operator gave.
func (s Status) Message() string {
	date := func(end time.Time) string { return dates.Last(end, time.Local).Format("2 January 2006") }
	because := func(sentence string) string {
		if s.Reason == "" {
			return sentence + "."
		}
		return sentence + ": " + s.Reason
	}
	if s.sentence != "" {
		return s.sentence
	}
	switch s.Code {
	case api.VerdictValid:
		if !s.ExpiresAt.IsZero() {
			return "The license is valid until " + date(s.ExpiresAt) + "."
		}
		return "The license is valid."
	case api.VerdictInGrace:
		return "The license expired on " + date(s.ExpiresAt) + " and works until " + date(s.ValidUntil) + "; renew it."
	case api.VerdictExpired:
		if !s.ExpiresAt.IsZero() {
			return "The license expired on " + date(s.ExpiresAt) + "; renew it."
		}
	case api.VerdictUpdatesEnded:
		return "The license includes updates until " + date(s.UpdatesUntil) + ", and this version is newer; versions made until then keep running."
	case api.VerdictSuspended:
		return because("The license is suspended")
	case api.VerdictRevoked:
		return because("The license was revoked")
	}
	if text, ok := messages[s.Code]; ok {
		return text
	}
	return because("The license is not valid (" + string(s.Code) + ")")
}

// messages are the sentences of codes that need no more than the code.
var messages = map[api.Code]string{
	api.VerdictExpired:         "The license has expired; renew it.",
	api.VerdictUpdatesEnded:    "This version is newer than the updates that the license includes; versions made until then keep running.",
	api.VerdictSuspended:       "The license is suspended.",
	api.VerdictRevoked:         "The license was revoked.",
	api.VerdictNotFound:        "No license has this license key; check it for typos.",
	api.VerdictScheduled:       "The license has not started yet.",
	api.VerdictProductMismatch: "The license is for another product.",
	api.VerdictNotActivated:    "This installation was released from the license; enter the license key again to use it here.",
	api.VerdictEvicted:         "Another installation took over the seat of this one; enter the license key again to use it here.",
	api.VerdictActivationLimit: "All seats of the license are in use; release another installation, or take over its seat.",
	api.VerdictLeaseEnded:      "The license was not confirmed in time; connect to the network.",
	api.CodeLinkGone:           "The activation in the browser was declined or took too long; start it again.",
	api.CodeNotConfigured:      "This program cannot be activated in a browser; enter a license key.",
	api.CodeSeatHeld:           "Too many installations were released recently and may still run offline; try again later.",
	api.VerdictFileTooLarge:    "The license is too large for this program; contact the vendor.",
	api.VerdictLeaseRequired:   "The license does not allow a seat for each process; contact the vendor.",
	CodeNoKey:                  "No license key is set; enter one.",
	CodeNoFile:                 "No license file is installed; request one from the vendor.",
	CodeUnreachable:            "The licensing service cannot be reached; check the network connection.",
	CodeUntrusted:              "The answer of the licensing service cannot be trusted; check the network connection.",
	CodeFileExpired:            "The license could not be confirmed for too long; connect to the network, or install a new license file.",
	CodeFileOutdated:           "The license has changed; connect to the network, enter the new license key, or install a new license file.",
	CodeFingerprintRequired:    "This installation cannot be identified; its directory for the license must be writable.",
	CodeFingerprintChanged:     "The license was activated on another machine; enter the license key again to use it here.",
	CodeClockChanged:           "The clock of this machine is wrong; correct it, or connect to the network.",
	CodeInvalidOption:          "This program is not set up correctly; contact the vendor.",
	CodeNoService:              "This program has no licensing service; install a license file.",
	CodeTimeout:                "There was no answer in time; try again.",
	CodeCanceled:               "This was canceled before there was an answer.",
	CodeClosed:                 "The license is closed.",
	CodeFileUnreadable:         "This is not a whole license file; copy it again.",
	CodeFileUntrusted:          "This license file was changed, or is of another vendor; copy it again, or request another.",
	CodeFileOtherRequest:       "This license file does not answer the last request; send that to the vendor again.",
	CodeFileRefused:            "This license file cannot be used here; request another.",
	CodeListRefused:            "The revocation list does not count; get a new one.",
	CodeListStale:              "The revocation list is out of date; get a new one.",
	CodeDirUnusable:            "The directory for the license cannot be written; ask the administrator.",
	api.CodeForbidden:          "This program may not manage the devices of the license; use your account at the vendor.",
	api.CodeInternal:           "A part of the program failed; try again.",
	api.CodeRateLimited:        "There were too many requests; wait a minute, and try again.",
	api.VerdictUsageLimit:      "The license does not include that much usage.",
	api.VerdictMeterMissing:    "The license does not include this kind of usage.",
}
