package api

import "time"

// ListLicensesParams select licenses. A license must match every set field.
type ListLicensesParams struct {
	CustomerID string        `query:"customer_id" validate:"omitempty,text,customer"`
	ProductID  string        `query:"product_id" validate:"omitempty,text"`
	Status     LicenseStatus `query:"status" validate:"omitempty,oneof=revoked suspended expired scheduled active"`
	// ExpiresBefore and ExpiresAfter select licenses whose ExpiresAt is
	// before the former, and at or after the latter. Zero: no bound.
	ExpiresBefore time.Time `query:"expires_before" validate:"omitempty,instant"`
	ExpiresAfter  time.Time `query:"expires_after" validate:"omitempty,instant"`

	// PlanID and Only select by what no index knows, so that a page examines at most 1,000
	// licenses and can be short. Only is "due", "near_limit", "updates_end_soon" or
	// "updates_ended": of the license, its updates or a purchase, something ends in the next
	// 30 days that no purchase renews by itself; at least 80 % of five or more seats or of a
	// meter are used, or a seat was refused in the last 30 days; the updates end in the next
	// 30 days; they have ended. Not for callers limited to products, and not for Count.
	PlanID string `query:"plan_id" validate:"omitempty,text"`
	Only   string `query:"only" validate:"omitempty,oneof=due near_limit updates_end_soon updates_ended"`

	// Search selects the license with that ID or key, or of the purchase with that
	// reference; over HTTP, it does not look for keys. If there is none, it selects the licenses whose name, customer ID,
	// product ID, plan ID, reference or metadata values contain each word of Search, ignoring case, accents and differences of
	// form. Of each license, the first 4,096 bytes of these texts are searched, in
	// that order. At most 1,024 characters.
	Search string `query:"search" validate:"omitempty,wellformed,max=1024"`
	// NewestFirst reverses the order of the list.
	NewestFirst bool `query:"newest_first" wire:"flag"`

	// Only in Go code of the service:

	// KeyPart selects the licenses whose key contains it: as people type a part
	// of a generated key or, if that finds none, exactly. For a caller who sees
	// masked keys, it selects none. At most 1,024 characters.
	KeyPart string `json:"key_part" validate:"omitempty,wellformed,max=1024"`
	// IDs selects only licenses with these IDs, at most 1,000. Search and KeyPart then
	// have no effect, and the list is sorted by creation. Nil: all licenses.
	IDs []string `json:"ids" validate:"max=1000"`

	Limit  int    `query:"limit" validate:"min=0,max=200"` // page size; 0: 50
	Cursor string `query:"cursor"`                         // of another page
}

// ExportLicensesParams select licenses as [ListLicensesParams] do.
type ExportLicensesParams struct {
	CustomerID    string        `query:"customer_id"`
	ProductID     string        `query:"product_id"`
	Status        LicenseStatus `query:"status"`
	ExpiresBefore time.Time     `query:"expires_before"`
	ExpiresAfter  time.Time     `query:"expires_after"`
}

// A LicenseRow is one license in an import or export: a line of NDJSON with
// the fields of [CreateLicenseParams] and those below. It does not include
// activations or events; programs activate again after an import.
type LicenseRow struct {
	ID string `json:"id,omitempty" wire:"filled"`
	CreateLicenseParams
	State       LicenseStatus `json:"state,omitempty" validate:"omitempty,oneof=active suspended revoked" wire:"filled"` // empty: active
	StateReason string        `json:"state_reason,omitempty" validate:"omitempty,text"`
	CreatedAt   *time.Time    `json:"created_at,omitempty" validate:"omitempty,instant" wire:"nullable"` // nil: now
	Generation  int64         `json:"generation,omitempty" validate:"min=0,max=9007199254740991"`        // 0: 1
	// Reference is the purchase whose license this is; see [RecordPurchaseParams].
	Reference string `json:"reference,omitempty" validate:"omitempty,identifier" wire:"filled"`

	// Purchases are the purchases of the license as the service stores them. Their number is
	// limited only by the length of the row, 1 MiB. An import restores them: what the license is then follows from them, from
	// ByHand and from Suspension, and not from the fields above that purchases set.
	Purchases  []map[string]any `json:"purchases,omitempty"`
	ByHand     map[string]any   `json:"by_hand,omitempty"`                                                  // what was set by hand and still differs from the purchases
	Suspension map[string]any   `json:"suspension,omitempty"`                                               // who suspends the license: an operator, the suspension of its customer, a paused purchase, or several
	ExportedAt *time.Time       `json:"exported_at,omitempty" validate:"omitempty,instant" wire:"nullable"` // the instant of ByHand; nil: now
	// Starts is [StartsActivation] for a license without ExpiresAt whose duration, that of
	// its plan, begins with its first activation.
	Starts Starts `json:"starts,omitempty" validate:"omitempty,oneof=activation" wire:"filled"`
}

// ListEventsParams select events. Every set field must match.
type ListEventsParams struct {
	// After is the NextCursor of an earlier page. Empty: start with the
	// oldest event that is kept or, with NewestFirst, with the newest.
	After string `query:"after"`
	// Types are types, or families such as "license.*", at most 100: events of any of them
	// match. Empty: all.
	Types      []string `query:"type" validate:"max=100"`
	Subject    string   `query:"subject" validate:"omitempty,text"` // such as a license ID
	CustomerID string   `query:"customer_id" validate:"omitempty,text"`
	// NewestFirst lists backward in time and, with Before, only events before that instant.
	NewestFirst bool      `query:"newest_first" wire:"flag"`
	Before      time.Time `query:"before" validate:"omitempty,instant"`
	Limit       int       `query:"limit" validate:"min=0,max=200"` // 0: 50
}

// A NameCount is the ID of a customer or product and its number of licenses.
type NameCount struct {
	Name string
	N    int64
}

// NamesParams select customers or products.
type NamesParams struct {
	Prefix string `json:"prefix" validate:"omitempty,wellformed,max=255"`  // names start with it, compared byte by byte
	Search string `json:"search" validate:"omitempty,wellformed,max=1024"` // names contain each word of it, as in [ListLicensesParams]
	Cursor string `json:"cursor" validate:"omitempty,wellformed,max=512"`  // NextCursor of the previous page
	Limit  int    `json:"limit" validate:"min=0,max=200"`                  // 0: 50
}
