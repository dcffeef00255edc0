package web

import (
	"errors"
	"net/http"
	"slices"
)

// SetHeaders sets headers to copies of their values.
func SetHeaders(h, values http.Header) {
	for name, value := range values {
		h[name] = slices.Clone(value)
	}
}

// AskHost asks the host application who makes a request, with the function of an option. If
// the host writes a response, that is a page of its own, without the headers of the pages here.
// If it refuses the request without one, AskHost returns an error.
func AskHost[T any](w http.ResponseWriter, r *http.Request, headers http.Header, option string, ask func(http.ResponseWriter, *http.Request) (T, bool)) (who T, ok bool, err error) {
	for name := range headers {
		w.Header().Del(name)
	}
	answer := &Answer{ResponseWriter: w}
	who, ok = ask(answer, r)
	if !ok && answer.Status == 0 && r.Context().Err() == nil {
		err = errors.New(option + " returned false without writing a response")
	}
	if ok || err != nil {
		SetHeaders(w.Header(), headers)
	}
	return who, ok, err
}
