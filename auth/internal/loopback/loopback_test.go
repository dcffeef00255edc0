package loopback

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/matryer/is"
)

func TestPlain(t *testing.T) {
	for url, secure := range map[string]bool{
		"http://localhost:8080/x/dashboard/sign-in": false,
		"http://app.localhost/dashboard/sign-in":    false,
		"http://127.0.0.1:8080/dashboard/sign-in":   false,
		"http://[::1]:8080/dashboard/sign-in":       false,
		"https://localhost/dashboard/sign-in":       true,
		"http://host.example/dashboard/sign-in":     true, // a proxy may terminate TLS
		"http://localhost.example/":                 true,
	} {
		t.Run(url, func(t *testing.T) {
			is.New(t).Equal(!Plain(httptest.NewRequest(http.MethodGet, url, nil)), secure)
		})
	}
	for origin, secure := range map[string]bool{
		"http://localhost:8080": false,
		"http://[::1]:8080":     false,
		"https://host.example":  true, // a proxy that terminates TLS
		"https://localhost":     true,
		"http://host.example":   true,
		"null":                  true,
	} {
		t.Run("form from "+origin, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/dashboard/sign-in", nil)
			r.Header.Set("Origin", origin)
			is.New(t).Equal(!Plain(r), secure)
		})
	}
}
