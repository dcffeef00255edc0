package api

import "time"

// A Meter says how much a license includes of something that is counted, such as
// exports or API calls.
type Meter struct {
	Limit *int64      `json:"limit,omitempty" wire:"nullable"` // units in one period, at most 1,000,000,000,000; nil: usage is only counted
	Soft  bool        `json:"soft,omitempty"`                  // usage above Limit is counted, too, instead of being refused
	Per   MeterPeriod `json:"per,omitempty" wire:"nullable"`   // when counting starts again at 0; empty: never
}

// A MeterPeriod is the time for which a meter counts, in UTC.
type MeterPeriod string

// The values of MeterPeriod. The months and years of a license begin at its StartsAt or,
// without that, at its CreatedAt. Each is computed from the first: a license of the 31st
// of a month starts again on the 31st or, in a shorter month, on the last day. Billing
// months are counted from the ExpiresAt of the license, back and on, or, without that, from
// its UpdatesUntil, so that one ends when what was paid for does; the first one begins with
// the license. A license without an end has the months of the license.
const (
	PerDay          MeterPeriod = "day"
	PerMonth        MeterPeriod = "month" // a calendar month
	PerYear         MeterPeriod = "year"  // a calendar year
	PerLicenseMonth MeterPeriod = "license_month"
	PerLicenseYear  MeterPeriod = "license_year"
	PerBillingMonth MeterPeriod = "billing_month"
)

// The reserved meters. The service counts them, so usage of them cannot be reported.
const (
	MeterActivations = "activations" // new activations; renewals are free
	MeterTransfers   = "transfers"   // transfers to another customer
)

// A MeterChange changes a meter of a license, or adds it. A field that is not set keeps
// its value.
type MeterChange struct {
	Limit Change[int64]       `json:"limit,omitzero"`
	Soft  *bool               `json:"soft,omitempty"`
	Per   Change[MeterPeriod] `json:"per,omitzero"` // null: never
}

// A MeterUse is what was used of a meter of a license in its present period.
type MeterUse struct {
	Name string `json:"name"`
	Meter
	Used      int64      `json:"used"`
	Remaining *int64     `json:"remaining"` // nil: there is no limit
	From      *time.Time `json:"from"`      // the beginning of the period; nil: the meter never starts again
	ResetsAt  *time.Time `json:"resets_at"` // the end of the period; nil: as From
}
