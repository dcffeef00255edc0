package api

import "time"

// A UsageReport says how much has been used so far under an ID: that of a request, of a
// job, or of a process and a day. The first report of an ID counts its Total, a later one
// with a greater Total counts the difference, and any other counts nothing. So a report may
// be repeated, and reports may arrive in any order.
//
// An ID is known for 36 days after it last counted. It should belong to one period of the
// meter: the difference counts in the period of the report that brings it.
type UsageReport struct {
	Meter string `json:"meter" validate:"identifier" wire:"required"`              // a meter of the license that is not reserved
	ID    string `json:"id" validate:"text" wire:"required"`                       // 1–255 characters; only a digest is stored
	Total int64  `json:"total" validate:"min=1,max=1000000000000" wire:"required"` // whole units
	// At, from 35 days ago to 5 minutes ahead, says that the units have been used: they
	// count in the period of At, above the limit too, whatever the state of the license.
	// Without At, the report asks: it is refused if the license is not valid, or if the
	// limit of a meter that is not Soft would be exceeded.
	At *time.Time `json:"at,omitempty" validate:"omitempty,instant" wire:"nullable"`
}

// CountUsageParams are 1 to 100 reports about the license with a key. Key and Usage are
// required.
type CountUsageParams struct {
	Key       string        `json:"key" validate:"required" wire:"credential"`          // as typed
	ProductID string        `json:"product_id" validate:"omitempty,text" wire:"filled"` // if set, the license must be for this product
	Usage     []UsageReport `json:"usage" validate:"min=1,max=100" wire:"required"`
}

// RecordUsageParams are reports about licenses: at most 100 licenses, each once, and 2,000
// reports together.
type RecordUsageParams struct {
	Licenses []LicenseUsage `json:"licenses" validate:"min=1,max=100,dive" wire:"required"`
}

// LicenseUsage are reports about one license.
type LicenseUsage struct {
	LicenseID string        `json:"license_id" validate:"license" wire:"required"`
	Usage     []UsageReport `json:"usage" validate:"min=1,max=2000" wire:"required"`
}

// A Usage is the answer to reports about one license.
type Usage struct {
	Object    string     `json:"object"` // always "usage"
	LicenseID string     `json:"license_id"`
	Counted   []int64    `json:"counted"`           // by each report, in their order
	Meters    []MeterUse `json:"meters"`            // those of the reports, by name; of a refusal, the one whose limit would be exceeded
	Refused   *Reason    `json:"refused,omitempty"` // why no report was counted; nil: they were
}

// A UsageBatch is the answer to RecordUsageParams: a Usage for each license, in their order.
type UsageBatch struct {
	Object string  `json:"object"` // always "usage_batch"
	Data   []Usage `json:"data"`
}

// A UsagePeriod is what was used of a meter in one period.
type UsagePeriod struct {
	Object string     `json:"object"` // always "usage_period"
	Meter  string     `json:"meter"`
	From   *time.Time `json:"from"` // nil: the meter never starts again
	To     *time.Time `json:"to"`   // nil: as From
	Used   int64      `json:"used"`
}

// ListUsageParams select the usage of a license.
type ListUsageParams struct {
	LicenseID string `json:"-" path:"licenseID"`
	Limit     int    `query:"limit" validate:"min=0,max=200"` // page size; 0: 50
	Cursor    string `query:"cursor"`                         // NextCursor of the previous page
}

// CorrectUsageParams set what was used of a meter in one period.
type CorrectUsageParams struct {
	LicenseID string `json:"-" path:"licenseID"`
	Meter     string `json:"-" path:"meter"`
	Used      int64  `json:"used" validate:"min=0,max=9007199254740991" wire:"required"`
	// From is the beginning of a period that has usage. Nil: the present period.
	From *time.Time `json:"from" validate:"omitempty,instant" wire:"nullable"`
	// Reason is recorded in the event.
	Reason string `json:"reason" validate:"omitempty,text"`
}

// A UsageCount is what an event says about a meter in one period.
type UsageCount struct {
	Meter   string     `json:"meter"`
	From    *time.Time `json:"from"`             // nil: the meter never starts again
	To      *time.Time `json:"to"`               // nil: as From
	Used    int64      `json:"used"`             // in the period so far
	Counted int64      `json:"counted,omitzero"` // usage.counted: since the event before; negative after a correction
	Limit   *int64     `json:"limit,omitempty"`  // nil: there is none
	Percent int64      `json:"percent,omitzero"` // usage.threshold_reached: 80 or 100
}
