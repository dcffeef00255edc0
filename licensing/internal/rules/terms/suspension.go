package terms

import (
	"cmp"
	"slices"
	"time"
)

// A Suspension says who suspends a license. An operator, the suspension of its customer
// and the purchases do so independently.
type Suspension struct {
	Held       bool   `json:"held,omitempty"` // by an operator
	HeldReason string `json:"held_reason,omitempty"`
	// ByCustomer reports that the customer is suspended.
	ByCustomer     bool   `json:"held_by_customer,omitempty"`
	CustomerReason string `json:"customer_reason,omitempty"`
	// By is the reference of the purchase whose pause suspends the license; empty: none does.
	By       string `json:"by,omitempty"`
	ByReason string `json:"by_reason,omitempty"`
	// Lifted are the paused purchases whose pause an operator ended. Such a pause
	// counts again when the purchase is paused after it was something else.
	Lifted []string `json:"lifted,omitempty"`
}

// Suspended reports whether the license is suspended.
func (s Suspension) Suspended() bool { return s.Held || s.ByCustomer || s.By != "" }

// Reason returns the reason that is shown: that of the operator, or else that of the
// customer's suspension, or else that of the purchase.
func (s Suspension) Reason() string { return cmp.Or(s.HeldReason, s.CustomerReason, s.ByReason) }

// Hold returns the suspension after an operator suspended the license.
func (s Suspension) Hold(reason string) Suspension {
	s.Held, s.HeldReason = true, reason
	return s
}

// Reinstate returns the suspension after an operator reinstated the license, which
// ends the hold and the pauses of its purchases.
func (s Suspension) Reinstate(g *Grant) Suspension {
	s = Suspension{}
	for i := range g.spans {
		if p := g.spans[i].Purchase; p.paused() {
			s.Lifted = append(s.Lifted, p.Reference)
		}
	}
	return s
}

// Follow returns the suspension after the purchases have changed. The hold of an
// operator stays. It also completes one that is put back: Undo stores the one of
// before, followed by the purchases as they are now.
func (s Suspension) Follow(g *Grant, now time.Time) Suspension {
	o, spans := g.view(now)
	lifted := s.Lifted
	s.By, s.ByReason, s.Lifted = "", "", nil
	for i := range spans {
		p := spans[i].Purchase
		if !p.paused() {
			continue
		}
		if slices.Contains(lifted, p.Reference) {
			s.Lifted = append(s.Lifted, p.Reference)
		} else if o.suspends && spans[i].role == base {
			s.By, s.ByReason = p.Reference, p.Reason // the last in order
		}
	}
	return s
}
