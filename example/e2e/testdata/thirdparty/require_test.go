package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/thirdparty/mapstore"
	"github.com/gin-gonic/gin"
	"github.com/labstack/echo/v5"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestRequireInRouters: a route of gin and of echo is served to a customer with a license,
// which it gets, and to no other.
func TestRequireInRouters(t *testing.T) {
	h := licensing.NewHandler(mapstore.New(), licensing.Options{})
	if _, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada"}); err != nil {
		t.Fatal(err)
	}
	licensed := h.Require(licensing.Requirement{ProductID: "atlas", Customer: func(r *http.Request) string { return r.Header.Get("X-User") }})
	name := func(r *http.Request) string {
		l, _ := licensing.LicenseFrom(r.Context())
		return l.Name
	}
	gin.SetMode(gin.ReleaseMode)
	onEcho, onGin := echo.New(), gin.New()
	reportsOnEcho(onEcho, licensed, func(c *echo.Context) error { return c.String(http.StatusOK, name(c.Request())) })
	reportsOnGin(onGin, licensed, func(c *gin.Context) { c.String(http.StatusOK, name(c.Request)) })
	for router, handler := range map[string]http.Handler{"echo": onEcho, "gin": onGin} {
		for user, status := range map[string]int{"ada": http.StatusOK, "eve": http.StatusForbidden, "": http.StatusForbidden} {
			r := httptest.NewRequest("GET", "/reports", nil)
			r.Header.Set("X-User", user)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != status || (w.Body.String() == "Ada") != (status == http.StatusOK) {
				t.Errorf("%s answered %q %d %s", router, user, w.Code, w.Body)
			}
		}
	}
}
