package store_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestIndexesAreNarrow adds up the most bytes of the columns of each documented index.
func TestIndexesAreNarrow(t *testing.T) {
	is := is.New(t)
	bytes := map[string]int{
		"id": 255, "license_id": 255, "state": 255, "kind": store.MaxKind, "license key": 1024, "entry key": store.MaxKey,
		"customer_id": 1024, "product_id": 1024, "fingerprint": 1024, "subject": 1024, "owner": 1024,
		"seq": 8, "starts_at": 8, "expires_at": 8, "lease_ends_at": 8,
	}
	page, err := os.ReadFile("indexes.go")
	is.NoErr(err)
	lines := regexp.MustCompile(`(?m)^\t.*\S {2,}(license|activation|event|entry): ([^;\n]*)`).FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(lines), 30)
	for _, line := range lines {
		sum := 0
		for column := range strings.SplitSeq(line[2], ", ") {
			if column == "key" {
				column = line[1] + " key"
			}
			if column != "unique" {
				require.Greater(t, bytes[column], 0) // a known column
			}
			sum += bytes[column]
		}
		require.AtMost(t, sum, 3072) // the widest index of MySQL
	}
}
