package api

import (
	"encoding/json"
	"time"
)

// A Plan is a template for licenses: what a price buys. Its terms are copied to
// licenses, so that a change or the deletion of a plan changes none of them.
type Plan struct {
	Object    string `json:"object"` // always "plan"
	ID        string `json:"id"`
	ProductID string `json:"product_id"`
	Name      string `json:"name"`

	Kind PlanKind `json:"kind"` // what a purchase of the plan is to its license
	// Line is what plans share whose purchases continue each other. Empty: purchases of a
	// base continue those of plans whose Line is its ID; those of an add-on, none.
	Line string `json:"line,omitempty"`

	Duration  Duration  `json:"duration,omitzero"` // how long what UntilEnds names lasts if its end is not given; zero: forever
	UntilEnds UntilEnds `json:"until_ends"`        // what ends with a purchase, or after Duration
	Starts    Starts    `json:"starts,omitempty"`  // when Duration begins; empty: with the purchase

	Terms // MaxActivations and the limits of Meters are of one unit; Entitlements is never nil

	Revision  int64     `json:"revision"` // starts at 1; each change adds 1
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	// Waiting is how many paid purchases wait for the plan, in the result of PutPlan only:
	// Service.TakeUpWaiting of package selling gives them their licenses.
	Waiting int `json:"waiting,omitempty"`
}

// Version returns the version that IfMatch compares and the ETag encodes.
func (p Plan) Version() Version { return Version{Revision: p.Revision} }

// ETag returns the entity tag of this version of the plan.
func (p Plan) ETag() string { return p.Version().ETag() }

// A PlanKind is what a purchase of a plan is to its license.
type PlanKind string

// The values of Plan.Kind.
const (
	PlanBase PlanKind = "base" // the license is valid while one of its bases counts
	// PlanAddOn adds activations, entitlements and meters to a license, and never
	// prolongs it.
	PlanAddOn PlanKind = "addon"
)

// An UntilEnds is what the end of a purchase ends.
type UntilEnds string

// The values of UntilEnds.
const (
	UntilEndsLicense UntilEnds = "license" // ExpiresAt of the license
	// UntilEndsUpdates is for perpetual licenses with maintenance: the purchase
	// ends UpdatesUntil, and its license does not expire.
	UntilEndsUpdates UntilEnds = "updates"
)

// A Starts is when the duration of a purchase begins, unless it continues an earlier one.
type Starts string

// StartsActivation begins Duration with the first activation of the license. Before that,
// a purchase has no end unless one is given.
const StartsActivation Starts = "activation"

// PutPlanParams are the terms of a plan. A field that is not set gets its default.
type PutPlanParams struct {
	// ID is 1–255 letters, digits and . _ : @ -, beginning with a letter or a
	// digit. The ID of a price at the payment provider needs no translation.
	ID        string `json:"-" path:"planID"`
	ProductID string `json:"product_id" validate:"text"`
	Name      string `json:"name" validate:"omitempty,text" wire:"filled"` // default: ID

	Kind PlanKind `json:"kind" validate:"omitempty,oneof=base addon" wire:"filled"` // default: [PlanBase]
	// Line is 1–255 letters, digits and . _ : @ -, beginning with a letter or a digit: the
	// same one in all plans whose purchases continue each other, such as the ID of the
	// plan of the first year. Default: ID; an add-on has none.
	Line string `json:"line" validate:"omitempty,identifier" wire:"filled"`

	Duration  Duration  `json:"duration"`                                                            // zero: forever unless the end is given
	UntilEnds UntilEnds `json:"until_ends" validate:"omitempty,oneof=license updates" wire:"filled"` // default: [UntilEndsLicense]
	Starts    Starts    `json:"starts" validate:"omitempty,oneof=activation" wire:"filled"`          // default: with the purchase; only with a Duration

	Terms // MaxActivations and the limits of Meters are of one unit

	// IfMatch, if not nil, requires that the plan exists at one of the versions.
	IfMatch []Version `json:"-" header:"If-Match"`
}

// ListPlansParams select plans.
type ListPlansParams struct {
	ProductID string `query:"product_id" validate:"omitempty,text"` // empty: all products
	Limit     int    `query:"limit" validate:"min=0,max=200"`       // 0: 50
	Cursor    string `query:"cursor"`                               // NextCursor of the previous page
}

// DeletePlanParams select a plan.
type DeletePlanParams struct {
	ID      string    `json:"-" path:"planID"`
	IfMatch []Version `json:"-" header:"If-Match"` // as in [PutPlanParams]
}

// ApplyPlanParams select a license and a plan.
type ApplyPlanParams struct {
	ID      string    `json:"-" path:"licenseID"`
	PlanID  string    `json:"plan_id" validate:"identifier"`
	Reason  string    `json:"reason" validate:"omitempty,text"` // recorded in the event
	IfMatch []Version `json:"-" header:"If-Match"`              // as in [UpdateLicenseParams]
}

// TakeUpWaitingParams select a plan, and the purchases that a call looks at.
type TakeUpWaitingParams struct {
	ID     string `json:"-" path:"planID"`
	Cursor string `json:"cursor" validate:"omitempty,wellformed,max=512"` // NextCursor of the call before; empty: from the beginning
}

// A PlanTakeUp is what one call of TakeUpWaiting has done.
type PlanTakeUp struct {
	Object     string `json:"object"`   // always "plan_take_up"
	Licensed   int    `json:"licensed"` // purchases that have a license now
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor,omitempty"` // empty: there are no more purchases
}

// RollOutPlanParams select a plan, and the purchases that a call looks at.
type RollOutPlanParams struct {
	ID     string `json:"-" path:"planID"`
	Reason string `json:"reason" validate:"omitempty,text"`               // recorded in the events
	Cursor string `json:"cursor" validate:"omitempty,wellformed,max=512"` // NextCursor of the call before; empty: from the beginning
}

// A PlanRollout is what one call of a roll-out has done.
type PlanRollout struct {
	Object     string `json:"object"` // always "plan_rollout"
	PlanID     string `json:"plan_id"`
	Changed    int    `json:"changed"`               // licenses that have other terms now
	NextCursor string `json:"next_cursor,omitempty"` // empty: there are no more purchases
}

// UnmarshalJSON replaces the whole roll-out, as that of [Page] does.
func (r *PlanRollout) UnmarshalJSON(b []byte) error {
	type plain PlanRollout // without this method
	var next plain
	if err := json.Unmarshal(b, &next); err != nil {
		return err
	}
	*r = PlanRollout(next)
	return nil
}

// A PlanUse says how many purchases and licenses have a plan.
type PlanUse struct {
	Object    string `json:"object"` // always "plan_use"
	PlanID    string `json:"plan_id"`
	Purchases int64  `json:"purchases"` // with a license, to whose terms a roll-out gives those of the plan
	// Licenses have the plan's ID from a request or an operator, not from a purchase. A
	// roll-out does not change them.
	Licenses int64 `json:"licenses"`
	AtLeast  bool  `json:"at_least"` // there can be more, because counting took too long
}
