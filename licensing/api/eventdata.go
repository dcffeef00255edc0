package api

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// EventData is the data of an event. Which fields are set depends on the type of
// the event. It never contains license keys or secrets.
type EventData struct {
	// License is the license after the change; for license.deleted, its last
	// state.
	License *License `json:"license,omitempty"`
	// Usage is set in events about usage, which do not have the license.
	Usage *UsageCount `json:"usage,omitempty"`
	// Plan is the plan after the change; for plan.deleted, its last state.
	Plan *Plan `json:"plan,omitempty"`
	// Reference is that of the purchase that caused the change.
	Reference string `json:"reference,omitempty"`
	// Granted is the ID of the plan of the purchase with that reference, set in the one
	// event with which the purchase gets its license.
	Granted string `json:"granted,omitempty"`
	// Imported reports that an import has created the license.
	Imported bool `json:"imported,omitempty"`
	// Ended are the references of the purchases that have ended, set for license.updated
	// with the actor "clock", or that will end before the license does, set for
	// license.expiring.
	Ended []string `json:"ended,omitempty"`
	// Activation is the activation after the change.
	Activation *Activation `json:"activation,omitempty"`
	// File is the license file that was issued.
	File *EventFile `json:"file,omitempty"`
	// Forced reports that a seat was released although a license file holds
	// it and the license has as many spent seats as it may have.
	Forced bool `json:"forced,omitempty"`
	// NoticeSeconds, set for license.expiring, is how long before the
	// license's expires_at, or before the end of the purchases in Ended, the notice is due.
	NoticeSeconds *int64 `json:"notice_seconds,omitempty"`
	// GraceEndsAt is when the grace period of the license, or of the purchases in
	// Ended, ends, set for license.expiring, license.expired, license.lapsed and, if
	// the license expires, license.renewed; nil at the last instant of the year 9999,
	// which is never.
	GraceEndsAt *time.Time `json:"grace_ends_at,omitempty"`
	// Previous is the ID of the signing key that was active before a rotation.
	Previous string `json:"previous,omitempty"`
	// SigningKey is the signing key after the change.
	SigningKey *EventSigningKey `json:"signing_key,omitempty"`
	// Client is the API client after the change; for client.deleted, its last state.
	Client *EventClient `json:"client,omitempty"`
	// Operator is the operator after the change.
	Operator *EventOperator `json:"operator,omitempty"`
	// Address is the network address from which an operator signed in or tried to.
	Address string `json:"address,omitempty"`
	// RecoveryCode reports that the second factor of a sign-in was a recovery code.
	RecoveryCode bool `json:"recovery_code,omitempty"`
	// Export says which licenses were exported with their keys.
	Export *EventExport `json:"export,omitempty"`
	// EventErasure is set for customer.erased.
	*EventErasure
	// Webhook is the webhook after the change. Its URL is reduced to scheme
	// and host.
	Webhook *Webhook `json:"webhook,omitempty"`
	// Changes holds the changed fields under their API names.
	Changes map[string]FieldChange `json:"changes,omitempty"`
	// Reason is the reason given for a state change or a release, or why a
	// webhook was disabled.
	Reason string `json:"reason,omitempty"`
	// Erased reports that the erasure of a customer has blanked the event.
	Erased bool `json:"erased,omitempty"`
}

// An EventFile is the license file in an event.
type EventFile struct {
	ID         string    `json:"id"` // the jti of the file
	Generation int64     `json:"generation"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// A FieldChange holds the old and the new value of a field.
type FieldChange struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// An EventSigningKey is the signing key in an event: see Key of package files.
type EventSigningKey struct {
	ID        string    `json:"id"`        // the kid of the license files that it signs
	Algorithm string    `json:"algorithm"` // "EdDSA" or "ES256"
	State     string    `json:"state"`     // "next", "active", "verify", "retired" or "compromised"
	Private   string    `json:"private"`   // where the private half is
	CreatedAt time.Time `json:"created_at"`
	StateAt   time.Time `json:"state_at"` // since when it has its state
}

// An EventClient is the API client in an event: see Client of package auth.
type EventClient struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Scopes    []string      `json:"scopes"`
	Products  []string      `json:"products"` // nil: all
	Disabled  bool          `json:"disabled"`
	Secrets   []EventSecret `json:"secrets"` // the valid ones
	CreatedAt time.Time     `json:"created_at"`
	UpdatedAt time.Time     `json:"updated_at"`
}

// An EventSecret is the secret of an API client in an event, without its value.
type EventSecret struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // zero: never
}

// An EventOperator is the operator in an event: see Operator of package auth/operator.
type EventOperator struct {
	ID       string `json:"id"`
	Email    string `json:"email"`
	Role     string `json:"role"` // "admin", "support" or "viewer"
	Disabled bool   `json:"disabled"`
}

// An EventExport is the export in an event.
type EventExport struct {
	Format string       `json:"format"` // "csv", "ndjson" or "json"
	Rows   int          `json:"rows"`   // licenses written; an export that failed may have written fewer
	Filter ExportFilter `json:"filter"`
}

// An ExportFilter says which licenses were exported. It does not have the search text or
// the part of a key: a search text can be a license key.
type ExportFilter struct {
	CustomerID    string        `json:"customer_id,omitempty"`
	ProductID     string        `json:"product_id,omitempty"`
	Status        LicenseStatus `json:"status,omitempty"`
	ExpiresBefore *time.Time    `json:"expires_before,omitempty"`
	ExpiresAfter  *time.Time    `json:"expires_after,omitempty"`
	PlanID        string        `json:"plan_id,omitempty"`
	Only          string        `json:"only,omitempty"`
	Search        bool          `json:"search,omitempty"`
	IDs           []string      `json:"ids,omitempty"`
}

// An EventErasure is what an event says of the erasure of a customer. It names the customer
// only to who knows the ID: Digest is the SHA-256 of the bytes of Salt and of the ID.
type EventErasure struct {
	Erased
	Salt   string `json:"salt"`   // 16 random bytes in hexadecimal, new in each event
	Digest string `json:"digest"` // in hexadecimal
}

// Names reports whether the erased customer has this ID, so that a receiver can find the
// customer among its own.
func (e EventErasure) Names(customerID string) bool {
	salt, err := hex.DecodeString(e.Salt)
	digest := sha256.Sum256(append(salt, customerID...))
	return err == nil && e.Digest == hex.EncodeToString(digest[:])
}
