package web

import "net/http"

// ProblemOf returns the answer to an error, for a side of the service that
// gives it another form than JSON.
func ProblemOf(err error) *Problem { return problemOf(err) }

// NewRequestID returns the id that r came with, or a new one.
func NewRequestID(r *http.Request) string { return requestID(r) }

// LoggedMethod returns the method as logs and metrics may name it.
func LoggedMethod(method string) string { return loggedMethod(method) }
