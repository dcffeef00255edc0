package api

import "time"

// An Activation is the use of one seat of a license by one fingerprint.
type Activation struct {
	Object    string `json:"object"` // always "activation"
	ID        string `json:"id"`     // "act_" and 26 characters; sortable by time of creation
	LicenseID string `json:"license_id"`
	// Fingerprint identifies the activated program, machine, container or
	// user. The licensed program chooses it.
	Fingerprint string           `json:"fingerprint"`
	Name        string           `json:"name"` // display name; may be empty
	Status      ActivationStatus `json:"status"`
	LeaseEndsAt *time.Time       `json:"lease_ends_at"` // when the lease ends unless renewed; nil: never
	// HeldUntil is until when license files hold the seat: the activation is
	// active at least to that time, unless it is released or evicted. It only
	// grows. Nil: no file was issued.
	HeldUntil *time.Time `json:"held_until"`
	// OfflineUntil is until when the program of a released or evicted
	// activation may still run from a license file; nil: it may not.
	OfflineUntil *time.Time        `json:"offline_until"`
	EndedAt      *time.Time        `json:"ended_at"` // when it was released or evicted
	Metadata     map[string]string `json:"metadata"` // set by the program; never nil
	CreatedAt    time.Time         `json:"created_at"`
	LastSeenAt   time.Time         `json:"last_seen_at"` // precise to a tenth of the lease or, without one, to the day
}

// An ActivationStatus is the status of an activation at an instant.
type ActivationStatus string

// The statuses of an activation. Only an active one uses a seat.
const (
	ActivationLive       ActivationStatus = "live"
	ActivationLeaseEnded ActivationStatus = "lease_ended"
	ActivationReleased   ActivationStatus = "released"
	ActivationEvicted    ActivationStatus = "evicted" // another activation took over its seat
)
