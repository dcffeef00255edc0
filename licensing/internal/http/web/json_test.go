package web

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

func TestPagesAreEncodedAsByEncodingJSON(t *testing.T) {
	is := is.New(t)
	all := []api.License{{ID: "lic_1", Name: "<a>"}, {ID: "lic_2"}}
	for _, page := range []api.Page[api.License]{{Data: all, HasMore: true, NextCursor: "next"}, {Data: all[:1]}, {Data: all[:0]}} {
		l := listOf(&page)
		got, err := Marshal(&l)
		is.NoErr(err)
		var want strings.Builder
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		is.NoErr(e.Encode(l))
		is.Equal(string(got), want.String())
	}
}
