package client

import (
	"context"
	"iter"
	"time"
)

// A Refusal counts how often a license was refused with one code in the last
// 90 days.
type Refusal struct {
	Code   Code          `json:"code"`
	Count  int64         `json:"count"`
	LastAt time.Time     `json:"last_at"`
	Days   []RefusalDay  `json:"days"`   // newest first
	Recent []RefusedCall `json:"recent"` // those of the license's last twenty refusals with this code, newest first
}

// A RefusalDay is the number of refusals on one day.
type RefusalDay struct {
	Date  string `json:"date"` // such as "2026-03-01", in UTC
	Count int64  `json:"count"`
}

// A RefusedCall is one validation or activation that was refused.
type RefusedCall struct {
	At          time.Time `json:"at"`
	Action      string    `json:"action"`      // "validate" or "activate"
	Fingerprint string    `json:"fingerprint"` // empty: none
	Address     string    `json:"address"`     // of the client; empty: unknown
}

// ListRefusalsParams select the refusals of a license.
type ListRefusalsParams struct {
	LicenseID string `json:"-" path:"licenseID"`
}

// ListRefusals returns why validations and activations of a license were
// refused, one entry for each code, the one with the latest refusal first. It
// fails with [CodeNotFound].
func (c *Client) ListRefusals(ctx context.Context, p ListRefusalsParams) iter.Seq2[Refusal, error] {
	return list[Refusal](ctx, c, "GET /license/{licenseID}/refusal", 0, func(string) any { return p })
}
