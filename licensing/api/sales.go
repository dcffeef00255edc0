package api

import "time"

// Sales are what was sold in a period, in numbers of licenses and purchases. It has no prices.
type Sales struct {
	Object string       `json:"object"` // always "sales"
	Period string       `json:"period"` // such as "last-week"
	From   time.Time    `json:"from"`   // the first day, in UTC
	To     time.Time    `json:"to"`     // the day after the last
	Before SalesNumbers `json:"before"` // of the period before
	Total  SalesNumbers `json:"total"`
	Plans  []PlanSales  `json:"plans"` // those with the most licenses in force first
	Days   []DaySales   `json:"days"`  // a row for each day and plan with a number
	// Active and Paying are the licenses in force at the end of the period, and those of them
	// with a purchase that is not a trial. Whole is false while they are still being counted.
	Active int64 `json:"active"`
	Paying int64 `json:"paying"`
	Whole  bool  `json:"whole"`

	CountedTo *time.Time `json:"counted_to"` // the last event that was counted; nil: the last one of all
	KeptSince *time.Time `json:"kept_since"` // the first event that is kept, if the period begins before it
}

// SalesNumbers are what happened on a day or in a period.
type SalesNumbers struct {
	New       int64 `json:"new"`       // purchases that got a license
	ByHand    int64 `json:"by_hand"`   // licenses that were created without a purchase
	Trials    int64 `json:"trials"`    // trials that started
	Converted int64 `json:"converted"` // trials whose license was bought
	Renewed   int64 `json:"renewed"`   // ends that became later, except of trials
	Ended     int64 `json:"ended"`     // licenses and purchases that ended, except trials

	// Of the ends that fell on the day: how many were moved by a renewal, and with how many
	// of them a license lapsed.
	DueRenewed int64 `json:"due_renewed"`
	DueEnded   int64 `json:"due_ended"`
}

// PlanSales are what was sold of a plan. An empty PlanID is that of licenses without a plan.
type PlanSales struct {
	PlanID string `json:"plan_id"`
	SalesNumbers
	InForce int64 `json:"in_force"` // licenses at the end of the period
	DueSoon int64 `json:"due_soon"` // ends in the next 30 days, with those that renew by themselves
}

// DaySales are what was sold of a plan on a day, such as "2026-11-28", in UTC.
type DaySales struct {
	Day    string `json:"day"`
	PlanID string `json:"plan_id"`
	SalesNumbers
}
