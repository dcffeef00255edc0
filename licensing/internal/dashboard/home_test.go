package dashboard_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestHomeURL(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{HomeURL: "https://admin.example.com/start"}})
	is.True(s.admin().get("licenses").says(`<a href="https://admin.example.com/start">Back to application</a>`))
	is.True(!newSite(t).admin().get("licenses").says("Back to application"))
}
