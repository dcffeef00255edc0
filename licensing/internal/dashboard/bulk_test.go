package dashboard_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestBulkActions(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	var ids []string
	for i := range 4 {
		ids = append(ids, s.license(license.CreateParams{Name: fmt.Sprintf("Number %d", i)}).ID)
	}
	_, err := s.Service().Revoke(t.Context(), license.MoveParams{ID: ids[1]})
	is.NoErr(err)
	is.NoErr(s.Service().Delete(t.Context(), license.DeleteParams{ID: ids[2]}))
	list := v.get("licenses")
	is.Equal(strings.Count(list.body, `name="id"`), 3)
	is.True(list.says(`formaction="./licenses/selected/suspend"`) && list.says(`formaction="./licenses/selected/revoke"`))
	s.operator("vic@example.com", operator.RoleViewer)
	is.True(!s.signedIn("vic@example.com").get("licenses").says("licenses/selected/")) // not for viewers

	ask := v.get("licenses/selected/suspend?id=" + strings.Join(append(ids, ids[0]), "&id="))
	is.Equal(ask.StatusCode, http.StatusOK)
	is.True(ask.says("<title>Suspend: 4 licenses") && ask.says("Number 0") && ask.says("This license is revoked and will not be changed.") && ask.says("no longer exists"))
	hidden := regexp.MustCompile(`name="id" value="(lic_\w+)"`).FindAllStringSubmatch(ask.body, -1)
	is.Equal(len(hidden), 4)
	status := func(i int) license.Status {
		l, err := s.Service().Get(t.Context(), ids[i])
		is.NoErr(err)
		return l.Status
	}
	is.Equal(status(0), license.StatusActive) // the confirmation page changes nothing

	form := []string{"id", ids[0], "id", ids[1], "id", ids[2], "id", ids[3]}
	is.Equal(v.post("licenses/selected/suspend", append(form, "reason", "a\x01")...).StatusCode, http.StatusUnprocessableEntity)
	is.Equal(status(0), license.StatusActive)
	a := v.post("licenses/selected/suspend", append(form, "reason", "The invoice is open")...)
	is.Equal(a.StatusCode, http.StatusOK)
	is.True(a.says("2 of 4 succeeded.") && a.says("Cannot suspend this license: it is revoked.") && a.says("no longer exists"))
	is.Equal(strings.Count(a.body, `data-label="Result"><span>Done<`), 2)
	is.Equal(status(0), license.StatusSuspended)
	is.Equal(status(1), license.StatusRevoked)
	is.Equal(status(3), license.StatusSuspended)
	is.True(v.get("licenses/" + ids[3]).says("The invoice is open"))
	is.True(v.post("licenses/selected/suspend", form...).says("0 of 4 succeeded."))

	is.True(v.post("licenses/selected/revoke", "id", ids[0], "id", ids[3]).says("2 of 2 succeeded."))
	is.Equal(status(3), license.StatusRevoked)
}

func TestBulkActionErrors(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	var many []string
	for i := range 101 {
		many = append(many, "id", fmt.Sprintf("lic_%d", i))
	}
	for name, tt := range map[string]struct {
		path   string
		form   []string
		status int
		title  string
	}{
		"none":              {"suspend", nil, http.StatusUnprocessableEntity, "No license selected"},
		"too many":          {"revoke", many, http.StatusUnprocessableEntity, "Too many licenses selected"},
		"unknown move":      {"misplace", []string{"id", "lic_1"}, http.StatusNotFound, "Not found"},
		"not a bulk action": {"rekey", []string{"id", "lic_1"}, http.StatusNotFound, "Not found"},
		"unknown license":   {"suspend", []string{"id", "lic_1"}, http.StatusOK, "Results"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			a := v.post("licenses/selected/"+tt.path, tt.form...)
			is.Equal(a.StatusCode, tt.status)
			is.True(a.says(tt.title + " · Licensing</title>"))
		})
	}
}
