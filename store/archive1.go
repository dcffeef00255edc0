package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// This file reads what only archives of formats 1 to 3 have. It writes the
// documents and the entries that the packages above had when formats 3 and 2
// were made, and never changes.

// isIndex3 reports whether the entries of a kind were an index for searches and
// counts, which no format after 3 has.
func isIndex3(kind string) bool {
	switch kind {
	case "catalog", "count", "word":
		return true
	}
	return strings.HasPrefix(kind, "index.")
}

// A line2 is one line of an archive of format 1 or 2.
type line2 struct {
	archiveLine
	License    *license2    `json:"license"`
	Activation *activation2 `json:"activation"`
	Delivery   *delivery1   `json:"delivery"` // in format 1
	Tally      *struct {    // in format 1; a count
		Kind, Name string
		N          int64
	} `json:"tally"`
}

// convert returns the line of the current format.
func (l line2) convert() (line archiveLine, err error) {
	line = l.archiveLine
	switch {
	case l.License != nil:
		line.License, err = l.License.convert()
	case l.Activation != nil:
		line.Activation, err = l.Activation.convert()
	case l.Delivery != nil:
		line.Entry, err = l.Delivery.entry()
	case l.Tally != nil:
		line.Entry = &Entry{Kind: "count"}
	}
	return line, err
}

// A license2 is a license before it had a document.
type license2 struct {
	ID, Name, ProductID, CustomerID, Key       string
	State                                      State
	StateReason                                string
	StateAt, StartsAt, ExpiresAt               time.Time
	GraceSeconds, MaxActivations, LeaseSeconds int64
	Entitlements, Metadata                     []byte
	Revision                                   int64
	CreatedAt, UpdatedAt                       time.Time
	Terms                                      []string // in format 1; words it is found by
}

func (l license2) convert() (*License, error) {
	document, err := document2(struct {
		Name         string          `json:"name,omitempty"`
		Reason       string          `json:"reason,omitempty"`
		Since        *int64          `json:"since,omitempty"`
		Grace        int64           `json:"grace,omitempty"`
		Seats        *int64          `json:"seats,omitempty"`
		Lease        *int64          `json:"lease,omitempty"`
		Entitlements json.RawMessage `json:"entitlements,omitempty"`
		Metadata     json.RawMessage `json:"metadata,omitempty"`
		Revision     int64           `json:"revision,omitempty"`
		Created      *int64          `json:"created,omitempty"`
		Updated      *int64          `json:"updated,omitempty"`
	}{
		l.Name, l.StateReason, millis2(l.StateAt), l.GraceSeconds, count2(l.MaxActivations), count2(l.LeaseSeconds),
		l.Entitlements, l.Metadata, l.Revision, millis2(l.CreatedAt), millis2(l.UpdatedAt),
	})
	if err != nil {
		return nil, fmt.Errorf("license %s: %w", l.ID, err)
	}
	return &License{
		ID: l.ID, Key: l.Key, CustomerID: l.CustomerID, ProductID: l.ProductID, State: l.State,
		StartsAt: l.StartsAt, ExpiresAt: l.ExpiresAt, Document: document,
	}, nil
}

// An activation2 is an activation before it had a document.
type activation2 struct {
	LicenseID, ID, Fingerprint, Name string
	LeaseEndsAt, EndedAt             time.Time
	EndReason                        string
	CreatedAt, LastSeenAt            time.Time
	Metadata                         []byte
}

func (a activation2) convert() (*Activation, error) {
	document, err := document2(struct {
		Name     string          `json:"name,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Metadata json.RawMessage `json:"metadata,omitempty"`
		Created  *int64          `json:"created,omitempty"`
		Seen     *int64          `json:"seen,omitempty"`
	}{a.Name, a.EndReason, a.Metadata, millis2(a.CreatedAt), millis2(a.LastSeenAt)})
	if err != nil {
		return nil, fmt.Errorf("activation %s: %w", a.ID, err)
	}
	return &Activation{
		LicenseID: a.LicenseID, ID: a.ID, Fingerprint: a.Fingerprint, LeaseEndsAt: a.LeaseEndsAt, EndedAt: a.EndedAt,
		Document: document,
	}, nil
}

// document2 returns v as JSON without white space.
func document2(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

// millis2 returns the time of a document: nil for the zero time.
func millis2(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

// count2 returns the limit of a document: nil for a negative one, which means
// none.
func count2(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

type delivery1 struct {
	ID         string
	EndpointID string
	EventID    string
	EventSeq   int64
	EventType  string
	State      string
	DueAt      time.Time
	Attempts   int64
	Data       []byte
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

func (d delivery1) entry() (*Entry, error) {
	data, err := json.Marshal(struct {
		EventID   string          `json:"event_id"`
		EventSeq  int64           `json:"event_seq"`
		EventType string          `json:"event_type"`
		State     string          `json:"state"`
		Attempts  int64           `json:"attempts"`
		UpdatedAt int64           `json:"updated_at"`
		Data      json.RawMessage `json:"data,omitempty"`
	}{d.EventID, d.EventSeq, d.EventType, d.State, d.Attempts, d.UpdatedAt.UnixMilli(), d.Data})
	if err != nil {
		return nil, fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	e := &Entry{Kind: "delivery", Key: d.EndpointID + "/" + d.ID, Owner: d.EndpointID, Data: data, ExpiresAt: d.DueAt, CreatedAt: d.CreatedAt}
	if d.DueAt.IsZero() {
		e.Owner, e.ExpiresAt = "finished", d.CreatedAt
	}
	return e, nil
}
