package api

// Terms are the fields that a plan copies to a license.
type Terms struct {
	GraceSeconds   int64  `json:"grace_seconds" validate:"min=0,max=3155760000"`                            // how long the license stays valid after ExpiresAt; at most 100 years
	MaxActivations *int64 `json:"max_activations" validate:"omitempty,min=0,max=1000000" wire:"nullable"`   // nil: unlimited
	LeaseSeconds   *int64 `json:"lease_seconds" validate:"omitempty,min=1,max=3155760000" wire:"nullable"`  // nil: activations last until released
	OfflineSeconds *int64 `json:"offline_seconds" validate:"omitempty,min=0,max=315576000" wire:"nullable"` // how long a license file for a key holder is valid at most; nil: the default of the service; 0: two checks

	// Entitlements has at most 100 entries. Names are 1–64 characters.
	// Values are true, a number or a string of 1–255 characters. Numbers may
	// be of any Go number type or json.Number and are stored as float64, which
	// reads return; whole numbers must be exact as float64.
	Entitlements map[string]any `json:"entitlements" wire:"nullable,max=100"`

	// Meters are what is counted, by name: at most 20, whose names are 1–64 letters,
	// digits and . _ : @ -, beginning with a letter or a digit.
	Meters map[string]Meter `json:"meters,omitempty" wire:"nullable"`
}
