package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestSpecification drives each row of the specification's table of endpoints
// with curl, in just the form in which it stands there.
func TestSpecification(t *testing.T) {
	needCurl(t)
	is := is.New(t)
	ex := start(t)
	base := ex.field("base address")
	token, id := "", ""

	rows := []struct {
		operation string
		curl      func() []string
		want      map[string]any // members of the answer
	}{
		{"get access token", func() []string {
			return []string{base + "/oauth/token?client_id=" + ex.field("client_id") + "&client_secret=" + ex.field("client_secret")}
		}, map[string]any{"token_type": "Bearer", "expires_in": 3600.0}},
		{"create license", func() []string {
			return []string{"-X", "POST", base + "/license", "-d", `{"name":"Row two","product_id":"atlas","customer_id":"row-customer"}`}
		}, map[string]any{"name": "Row two", "product_id": "atlas", "customer_id": "row-customer"}},
		{"get one license", func() []string {
			return []string{base + "/license/" + id}
		}, map[string]any{"name": "Row two"}},
		{"get all licenses of a user", func() []string {
			return []string{base + "/license/row-customer"}
		}, map[string]any{"object": "list", "has_more": false}},
		{"update license", func() []string {
			return []string{"-X", "PATCH", base + "/license", "-d", `{"name":"Row five","product_id":"atlas","customer_id":"row-customer"}`}
		}, map[string]any{"name": "Row five", "revision": 2.0}},
		{"delete license", func() []string {
			return []string{"-X", "DELETE", base + "/license/" + id}
		}, map[string]any{"object": "license", "deleted": true}},
	}
	for _, row := range rows {
		t.Run(row.operation, func(t *testing.T) {
			is := is.New(t)
			args := append([]string{"-sS", "--fail-with-body", "--max-time", "20"}, row.curl()...)
			if token != "" {
				args = append(args, "-H", "Authorization: Bearer "+token)
			}
			if strings.Contains(strings.Join(args, " "), " -d ") {
				args = append(args, "-H", "Content-Type: application/json")
			}
			out, err := exec.CommandContext(t.Context(), "curl", args...).CombinedOutput()
			if err != nil {
				t.Fatalf("curl: %v\n%s", err, out)
			}
			var answer map[string]any
			is.NoErr(json.Unmarshal(out, &answer))
			for name, value := range row.want {
				is.Equal(answer[name], value)
			}
			if token == "" {
				token, _ = answer["access_token"].(string)
			}
			if given, ok := answer["id"].(string); ok {
				is.True(id == "" || given == id) // it is one license all along
				id = given
			}
		})
	}
	require.HasPrefix(t, token, "lat_")
	require.HasPrefix(t, id, "lic_")
}
