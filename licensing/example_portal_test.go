package licensing_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// mountPortal mounts the customers' pages. signedIn returns the customer of a
// request's session, or "".
func mountPortal(mux *http.ServeMux, h *licensing.Handler, signedIn func(*http.Request) (customerID string)) {
	pages := h.Portal(licensing.Portal{
		Customer: func(w http.ResponseWriter, r *http.Request) (string, bool) {
			id := signedIn(r)
			if id == "" {
				http.Redirect(w, r, "/login", http.StatusSeeOther)
			}
			return id, id != ""
		},
	})
	mux.Handle("/account/licenses/", http.StripPrefix("/account/licenses", pages))
}

func ExampleHandler_Portal() {
	h := licensing.NewHandler(memory.New(), licensing.Options{})
	if _, err := h.Service().Create(context.Background(), api.CreateLicenseParams{Name: "Atlas for Ada", ProductID: "atlas", CustomerID: "ada"}); err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mountPortal(mux, h, func(r *http.Request) string { return r.URL.Query().Get("user") }) // in earnest, from the session

	for _, user := range []string{"ada", "bo", ""} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", "/account/licenses/?user="+user, nil))
		fmt.Println(w.Code, strings.Contains(w.Body.String(), "Atlas for Ada"))
	}
	// Output:
	// 200 true
	// 200 false
	// 303 false
}
