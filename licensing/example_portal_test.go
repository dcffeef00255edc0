package licensing_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
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

// mountGerman mounts the customers' pages in German, with a title of your own.
func mountGerman(mux *http.ServeMux, h *licensing.Handler, signedIn func(http.ResponseWriter, *http.Request) (string, bool)) {
	texts, _ := licensing.PortalTextsFor("de")
	texts.Title = "Ihre Lizenzen bei Acme"
	mux.Handle("/konto/", http.StripPrefix("/konto", h.Portal(licensing.Portal{Customer: signedIn, Texts: texts})))
}

func ExamplePortalTextsFor() {
	mux, h := http.NewServeMux(), licensing.NewHandler(memory.New(), licensing.Options{})
	signedIn := func(http.ResponseWriter, *http.Request) (string, bool) { return "ada", true }
	mux.Handle("/account/", http.StripPrefix("/account", h.Portal(licensing.Portal{Customer: signedIn})))
	mountGerman(mux, h, signedIn)
	for _, mount := range []string{"/account/", "/konto/"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", mount, nil))
		_, title, _ := strings.Cut(w.Body.String(), "<title>")
		title, _, _ = strings.Cut(title, "</title>")
		fmt.Println(title)
	}
	// Output:
	// Your licenses
	// Ihre Lizenzen bei Acme
}

// newClaimable returns a handler whose batches customers can claim, and the pages on which
// they do. email returns the address of the signed-in customer.
func newClaimable(st store.Store, signedIn func(http.ResponseWriter, *http.Request) (string, bool), email func(*http.Request) string) (h *licensing.Handler, pages http.Handler) {
	h = licensing.NewHandler(st, licensing.Options{ClaimFrom: []string{"batch:"}})
	return h, h.Portal(licensing.Portal{Customer: signedIn, Email: email})
}

func ExamplePortal_claim() {
	signedIn := func(http.ResponseWriter, *http.Request) (string, bool) { return "ada", true }
	h, pages := newClaimable(memory.New(), signedIn, func(*http.Request) string { return "ada@example.com" })
	batch, err := h.Service().CreateBatch(context.Background(), api.CreateBatchParams{Count: 100, CreateLicenseParams: api.CreateLicenseParams{
		Name: "Spring bundle", ProductID: "atlas", CustomerID: "batch:spring",
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	form := url.Values{"key": {batch.Data[0].Key}}.Encode()
	r := httptest.NewRequest("POST", "/claim", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	l, err := h.Service().Get(context.Background(), batch.Data[0].ID)
	fmt.Println(w.Code, l.CustomerID, l.Metadata["email"], err)
	// Output: 303 ada ada@example.com <nil>
}
