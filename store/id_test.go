package store_test

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestNewID(t *testing.T) {
	is := is.New(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	seen := map[string]bool{}
	var ids []string
	for i := range 2000 {
		id := store.NewID("lic", at.Add(time.Duration(i)*time.Millisecond))
		require.Matches(t, id, regexp.MustCompile(`^lic_[0-7][0-9a-hjkmnp-tv-z]{25}$`)) // prefix and 26 digits of Crockford's base32
		is.True(!seen[id])                                                              // unique
		seen[id] = true
		ids = append(ids, id)
	}
	is.True(slices.IsSorted(ids))                                                            // ids sort by the millisecond they were made in
	require.Less(t, store.NewID("lic", time.Date(1734, 1, 1, 0, 0, 0, 0, time.UTC)), ids[0]) // also by one that no UUID can hold
}

// TestNewIDIsAUUID decodes an id.
func TestNewIDIsAUUID(t *testing.T) {
	is := is.New(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	_, digits, _ := strings.Cut(store.NewID("lic", at), "_")
	n := new(big.Int)
	for _, d := range digits {
		n.Lsh(n, 5).Add(n, big.NewInt(int64(strings.IndexRune("0123456789abcdefghjkmnpqrstvwxyz", d))))
	}
	bits := func(from, count uint) uint64 {
		return new(big.Int).Rsh(n, from).Uint64() & (1<<count - 1)
	}
	is.Equal(bits(80, 48), uint64(at.UnixMilli()))
	is.Equal(bits(76, 4), uint64(7)) // the version
	is.Equal(bits(62, 2), uint64(2)) // the variant
}

func TestTimeRangeContains(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before, after := noon.Add(-time.Millisecond), noon.Add(time.Millisecond)
	for _, tt := range []struct {
		name string
		r    store.TimeRange
		t    time.Time
		want bool
	}{
		{"an open range holds any time", store.TimeRange{}, noon, true},
		{"an open range holds no time at all", store.TimeRange{}, time.Time{}, true},
		{"From is within", store.TimeRange{From: noon}, noon, true},
		{"just before From is not", store.TimeRange{From: noon}, before, false},
		{"Before is without", store.TimeRange{Before: noon}, noon, false},
		{"just before Before is within", store.TimeRange{Before: noon}, before, true},
		{"within both bounds", store.TimeRange{From: before, Before: after}, noon, true},
		{"a bound leaves out records without the time", store.TimeRange{From: noon}, time.Time{}, false},
		{"unless OrNone is set", store.TimeRange{From: noon, OrNone: true}, time.Time{}, true},
		{"OrNone changes nothing for a time out of range", store.TimeRange{From: noon, OrNone: true}, before, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is.New(t).Equal(tt.r.Contains(tt.t), tt.want)
		})
	}
}

func TestLimit(t *testing.T) {
	is := is.New(t)
	is.Equal(store.Limit(0), store.MaxLimit)
	is.Equal(store.Limit(-1), store.MaxLimit)
	is.Equal(store.Limit(1), 1)
	is.Equal(store.Limit(store.MaxLimit), store.MaxLimit)
	is.Equal(store.Limit(store.MaxLimit+1), store.MaxLimit)
}
