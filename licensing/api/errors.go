package api

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The errors of the rules, for Go code in the process of the service. Methods return
// them wrapped, or as the type that each comment names; test for them with [errors.Is]
// and [errors.As]. Store errors, such as store.ErrUnavailable and store.ErrConflict, are
// returned wrapped. The errors of clients are codes, such as [CodeNotFound].
var (
	// ErrNotFound: the record does not exist, such as a license, an activation, a
	// plan, a webhook, an API client, an operator or a signing key, or it is outside
	// the caller's product limit.
	ErrNotFound = errors.New("not found")

	// ErrInvalid: a parameter is invalid. Always an [*InvalidError].
	ErrInvalid = errors.New("invalid parameters")

	// ErrStale: the license or the plan is not at any version in IfMatch. Always
	// a [*StaleError].
	ErrStale = errors.New("the license has changed")

	// ErrAmbiguous: the customer has more than one license for the product.
	// Always an [*AmbiguousError].
	ErrAmbiguous = errors.New("more than one license matches")

	// ErrProductForbidden: the caller is limited to other products.
	ErrProductForbidden = errors.New("the product is outside the caller's product limit")

	// ErrKeyTaken: another license has that key.
	ErrKeyTaken = errors.New("another license has this key")

	// ErrOnceMismatch: the key of Service.Once of package license was used for another request.
	ErrOnceMismatch = errors.New("the key was used for another request")

	// ErrStateForbids: the license's state does not allow the change. Always a
	// [*StateError].
	ErrStateForbids = errors.New("the state of the license does not allow this change")

	// ErrDenied: the license does not allow an activation or usage. Always a
	// [*DeniedError].
	ErrDenied = errors.New("the license does not allow this")

	// ErrSeatHeld: a license file holds the seat, so its program may run until the
	// file expires. Always a [*SeatHeldError].
	ErrSeatHeld = errors.New("a license file holds the seat")

	// ErrNoFile: the license allows no file. Always a [*NoFileError].
	ErrNoFile = errors.New("the license allows no file")

	// ErrActivationLimit: a [*DeniedError] because no seat is free.
	ErrActivationLimit = errors.New("no seat of the license is free")

	// ErrUsageLimit: a [*DeniedError] because the limit of a meter would be exceeded.
	ErrUsageLimit = errors.New("the limit of a meter of the license is reached")

	// ErrCursorGone: the event feed does not continue at the cursor, because
	// retention removed events after it, or because the store was restored
	// from a backup or an archive. Read the feed from the beginning and
	// skip events whose IDs are known.
	ErrCursorGone = errors.New("the event feed does not continue at this cursor")

	// ErrReferenceTaken: the reference is that of another purchase, of another
	// customer, license or product.
	ErrReferenceTaken = errors.New("the reference is that of another purchase")

	// ErrLinkGone: the link does not exist, has ended, was declined, or its code was used.
	ErrLinkGone = errors.New("the link has ended")

	// ErrTrialTaken: another customer had a trial of the product with one of the
	// subjects, or the license of the customer's trial is revoked or deleted.
	ErrTrialTaken = errors.New("the trial has been used")

	// ErrClaimed: the customer of the license is none from whom it can be claimed.
	ErrClaimed = errors.New("the license is another customer's")

	// ErrForbidden: the operation is not allowed with a license key.
	ErrForbidden = errors.New("license keys cannot perform this operation; see Options.KeyHolderSeats")
)

// An InvalidError lists every invalid parameter. errors.Is(e, [ErrInvalid])
// is true.
type InvalidError struct {
	Fields []FieldError
}

func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = strings.TrimSpace(f.Field + " " + f.Detail)
	}
	return strings.Join(parts, "; ")
}

// Is makes errors.Is(e, ErrInvalid) true.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// Invalid returns an [*InvalidError] for one field. Options.BeforeCreate
// uses it to refuse a license with a message for the caller. field is the JSON name,
// such as "product_id", and detail follows it, as in "must be a product that is for sale".
func Invalid(field, code, detail string) error {
	return &InvalidError{Fields: []FieldError{{Field: field, Code: code, Detail: detail}}}
}

// A StaleError is returned if no version in IfMatch is the current one.
type StaleError struct {
	Current Version
}

func (e *StaleError) Error() string {
	what := "license"
	if e.Current.Status == "" {
		what = "plan"
	}
	return fmt.Sprintf("the %s has changed and is now at version %s; read it again", what, e.Current)
}

// Is makes errors.Is(e, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// An AmbiguousError lists the licenses that match a product and a customer.
type AmbiguousError struct {
	IDs []string // the first twenty, oldest first
}

func (e *AmbiguousError) Error() string {
	return "more than one license matches (" + strings.Join(e.IDs, ", ") + "); identify one by its id"
}

// Is makes errors.Is(e, ErrAmbiguous) true.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }

// A StateError is returned if a license's state does not allow a change.
type StateError struct {
	Change string        // "suspend", "reinstate", "revoke", "renew", "rekey", "transfer" or "claim"
	From   LicenseStatus // the current state
	To     LicenseStatus // the state after the change; equal to From if that stays

	// Customer reports that the customer is suspended, so that no license of the
	// customer can be reinstated.
	Customer bool
}

func (e *StateError) Error() string {
	if e.Customer {
		return "cannot reinstate a license of a suspended customer; reinstate the customer"
	}
	return fmt.Sprintf("cannot %s a license that is %s", e.Change, e.From)
}

// Is makes errors.Is(e, ErrStateForbids) true.
func (e *StateError) Is(target error) bool { return target == ErrStateForbids }

// A DeniedError is returned if a license does not allow an activation or usage. It
// also matches [ErrNotFound] if no license has the key, [ErrActivationLimit] if no seat
// is free, and [ErrUsageLimit] if the limit of a meter would be exceeded.
type DeniedError struct {
	Verdict Verdict // the reasons, and when to retry
}

func (e *DeniedError) Error() string {
	if e.Verdict.Code == VerdictNotFound {
		return "license key: " + ErrNotFound.Error()
	}
	if len(e.Verdict.Reasons) == 0 {
		return ErrDenied.Error()
	}
	return e.Verdict.Reasons[0].Detail
}

// Is makes errors.Is(e, ErrDenied) true, and the other three where they apply.
func (e *DeniedError) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Verdict.Code == VerdictNotFound
	case ErrActivationLimit:
		return e.Verdict.Code == VerdictActivationLimit
	case ErrUsageLimit:
		return e.Verdict.Code == VerdictUsageLimit
	}
	return target == ErrDenied
}

// A SeatHeldError is returned if an activation cannot be released or evicted
// because a license file holds its seat, and the license already has as many spent
// seats as it may have.
type SeatHeldError struct {
	OfflineUntil time.Time // when the hold of this activation ends
}

func (e *SeatHeldError) Error() string {
	return "a license file holds the seat until " + e.OfflineUntil.Format(time.RFC3339) + "; release it then"
}

// Is makes errors.Is(e, ErrSeatHeld) true.
func (e *SeatHeldError) Is(target error) bool { return target == ErrSeatHeld }

// A NoFileError says why a valid license allows no file.
type NoFileError struct{ Reason Reason }

func (e *NoFileError) Error() string { return e.Reason.Detail }

// Is makes errors.Is(e, ErrNoFile) true.
func (e *NoFileError) Is(target error) bool { return target == ErrNoFile }
