package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestReplay: the recorded payloads end in one license in any order.
func TestReplay(t *testing.T) {
	is := is.New(t)
	all, err := providers()
	is.NoErr(err)
	wants := map[string]string{
		"stripe":       "cus_Na6dX7aXxi11N4, plan price_pro, 15 activations,",
		"paddle":       "ctm_01hv6y1jedq4p1n0yqn5ba3ky4, plan pri_pro, 10 activations, expired until 2026-03-12T00:00:00Z",
		"lemonsqueezy": "Ada Lovelace, plan 10, 5 activations,",
		"polar":        "992fae2a-2a17-4b7a-8d9e-e287cf90131b, plan 0f1a2b3c-21b7-4a41-8bc3-ce909c0cfe24, 20 activations, expired until 2026-03-09T00:00:00Z",
	}
	for _, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			is := is.New(t)
			want := ""
			for range 100 {
				order := p.shuffled()
				got, err := p.replay(t.Context(), memory.New(), order)
				is.NoErr(err)
				if want == "" {
					want = got
				}
				if got != want {
					t.Fatalf("%v ends in\n%s\nand another order in\n%s", order, got, want)
				}
			}
			require.HasPrefix(t, want, wants[p.Name])
		})
	}
}

func TestPage(t *testing.T) {
	is := is.New(t)
	for _, method := range []string{"GET", "POST"} {
		w := httptest.NewRecorder()
		serve(w, httptest.NewRequest(method, "/", nil))
		is.Equal(w.Code, 200)
		is.Equal(strings.Count(w.Body.String(), "the same"), 4)
	}
}
