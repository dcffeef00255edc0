package store

import (
	"encoding/json"
	"fmt"
	"time"
)

// This file reads what only archives of format 1 have. It writes entries of the
// kinds that the packages above had when format 2 was made, and never changes.

// A license1 is a license and, in format 1, the words it is found by.
type license1 struct {
	License
	Terms []string `json:",omitempty"`
}

func (l license1) words() (entries []Entry) {
	for _, word := range l.Terms {
		entries = append(entries, Entry{Kind: "word", Key: word + " " + l.ID})
	}
	return entries
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

func (d delivery1) entry() (Entry, error) {
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
		return Entry{}, fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	e := Entry{Kind: "delivery", Key: d.EndpointID + "/" + d.ID, Owner: d.EndpointID, Data: data, ExpiresAt: d.DueAt, CreatedAt: d.CreatedAt}
	if d.DueAt.IsZero() {
		e.Owner, e.ExpiresAt = "finished", d.CreatedAt
	}
	return e, nil
}

type tally1 struct {
	Kind string
	Name string
	N    int64
}

func (t tally1) entry() Entry {
	const prefix = "license."
	return Entry{Kind: "count", Key: t.Kind[min(len(prefix), len(t.Kind)):] + "/" + t.Name, Data: fmt.Append(nil, t.N)}
}
