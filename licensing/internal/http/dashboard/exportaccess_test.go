package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A partReader reads a download part by part, and does something after the first one.
type partReader struct {
	*httptest.ResponseRecorder
	then func()
}

func (w *partReader) Write(part []byte) (int, error) {
	if then := w.then; then != nil {
		w.then = nil
		defer then()
	}
	return w.ResponseRecorder.Write(part)
}

// download downloads a file and calls then after its first part. It reports whether the
// download was cut.
func (v *visitor) download(page string, then func()) (w *partReader, isCut bool) {
	v.s.t.Helper()
	r := httptest.NewRequestWithContext(v.s.t.Context(), http.MethodGet, "http://localhost/dashboard/"+page, nil)
	at, err := url.Parse(v.s.base + "/dashboard/")
	is.New(v.s.t).NoErr(err)
	for _, c := range v.client.Jar.Cookies(at) {
		r.AddCookie(c)
	}
	w = &partReader{httptest.NewRecorder(), then}
	defer func() {
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler {
				panic(v)
			}
			isCut = true
		}
	}()
	v.s.ServeHTTP(w, r)
	return w, isCut
}

// addLicenses imports licenses.
func (s *site) addLicenses(n int) {
	s.t.Helper()
	var rows strings.Builder
	for i := range n {
		fmt.Fprintf(&rows, `{"name":"Number %d","product_id":"atlas","customer_id":"cus","key":"THE-KEY-OF-NUMBER-%06d"}`+"\n", i, i)
	}
	is.New(s.t).NoErr(s.Service().Import(s.t.Context(), strings.NewReader(rows.String()), func(api.RowResult) error { return nil }))
}

// TestDownloadsEndWithTheAccess: a CSV file is cut when its operator may not download it
// any more.
func TestDownloadsEndWithTheAccess(t *testing.T) {
	yes, viewer := true, operator.RoleViewer
	for name, end := range map[string]func(s *site, v *visitor, id string) error{
		"signed out": func(_ *site, v *visitor, _ string) error {
			v.post("sign-out")
			return nil
		},
		"disabled": func(s *site, _ *visitor, id string) error {
			_, err := s.Operators().Update(s.t.Context(), operator.UpdateParams{ID: id, Disabled: &yes})
			return err
		},
		"demoted": func(s *site, _ *visitor, id string) error {
			_, err := s.Operators().Update(s.t.Context(), operator.UpdateParams{ID: id, Role: &viewer})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newSite(t)
			s.admin()
			s.addLicenses(450)
			for _, page := range []string{"licenses.csv", "audit.csv"} {
				email := strings.TrimSuffix(page, ".csv") + "@example.com"
				id := s.operator(email, operator.RoleAdmin).ID
				v := s.signedIn(email)
				whole, cut := v.download(page, nil)
				is.True(!cut)
				w, cut := v.download(page, func() { is.NoErr(end(s, v, id)) })
				is.True(cut)
				is.True(0 < w.Body.Len() && w.Body.Len() < whole.Body.Len()*2/3)
			}
		})
	}
}

// TestDownloadsEndWithTheAccessOfTheHost: the host's own sign-in is asked again.
func TestDownloadsEndWithTheAccessOfTheHost(t *testing.T) {
	is := is.New(t)
	op, signedIn := operator.Operator{ID: "7", Role: operator.RoleAdmin}, true
	s := signInBy(t, func(w http.ResponseWriter, r *http.Request) (operator.Operator, bool) {
		if !signedIn {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
		}
		return op, signedIn
	})
	s.addLicenses(450)
	for _, end := range []func(){
		func() { signedIn = false },
		func() { op.ID = "8" },
		func() { op.Role = operator.RoleSupport }, // keys are hidden from this role
		func() { op.Disabled = true },
	} {
		op, signedIn = operator.Operator{ID: "7", Role: operator.RoleAdmin}, true
		w, cut := s.visitor().download("licenses.csv", end)
		is.True(cut)
		is.Equal(w.Code, http.StatusOK)
		is.Equal(w.Header().Get("Location"), "")
	}
}
