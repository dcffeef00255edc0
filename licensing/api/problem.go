package api

import "time"

// A Problem is a response that reports a failure (RFC 9457), sent as
// application/problem+json.
type Problem struct {
	Type      string       `json:"type"`             // always "about:blank"
	Title     string       `json:"title"`            // the phrase of the status
	Status    int          `json:"status"`           // of HTTP
	Code      Code         `json:"code"`             // stable, for programs
	Detail    string       `json:"detail,omitempty"` // for humans: what is wrong and how to fix it
	RequestID string       `json:"request_id"`       // identifies the request in the log of the service
	Errors    []FieldError `json:"errors,omitempty"` // each invalid part of the request

	IDs  []string `json:"ids,omitempty"`  // with CodeLicenseAmbiguous: the candidates
	From string   `json:"from,omitempty"` // with CodeStateForbidden: the status of the license
	To   string   `json:"to,omitempty"`   // with CodeStateForbidden: the status that it cannot have

	Verdict *Verdict `json:"verdict,omitempty"` // of a refused activation

	OfflineUntil *time.Time `json:"offline_until,omitempty"` // with CodeSeatHeld: when the license file expires
}

// A FieldError says what is wrong with one parameter, and how to fix it. One of the
// first four fields identifies it: Field in Go, the others in a [Problem].
type FieldError struct {
	Field     string `json:"-"`                   // the path on the wire: "name", "products/0", "metadata/plan"
	Pointer   string `json:"pointer,omitempty"`   // into the body: a JSON Pointer as a URI fragment (RFC 6901), such as "#/name"
	Parameter string `json:"parameter,omitempty"` // of the query or the path
	Header    string `json:"header,omitempty"`
	Detail    string `json:"detail"` // one sentence for people, without the value given
	Code      string `json:"code"`   // one of the Field constants
}

// Error returns the place and the detail.
func (e *FieldError) Error() string {
	return e.Field + e.Pointer + e.Parameter + e.Header + " " + e.Detail
}
