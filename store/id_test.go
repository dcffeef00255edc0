package store

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"
)

func TestNewID(t *testing.T) {
	is := is.New(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	seen := map[string]bool{}
	var ids []string
	for i := range 2000 {
		id := NewID("lic", at.Add(time.Duration(i)*time.Millisecond))
		is.True(regexp.MustCompile(`^lic_[0-7][0-9a-hjkmnp-tv-z]{25}$`).MatchString(id)) // prefix and 26 digits of Crockford's base32
		is.True(!seen[id])                                                               // unique
		seen[id] = true
		ids = append(ids, id)
	}
	is.True(slices.IsSorted(ids))                                               // ids sort by the millisecond they were made in
	is.True(NewID("lic", time.Date(1734, 1, 1, 0, 0, 0, 0, time.UTC)) < ids[0]) // also by one that no UUID can hold
}

func TestEncode128(t *testing.T) {
	is := is.New(t)
	is.Equal(string(encode128(nil, [16]byte{})), "00000000000000000000000000")
	is.Equal(string(encode128(nil, [16]byte{15: 33})), "00000000000000000000000011")
	var all [16]byte
	for i := range all {
		all[i] = 0xff
	}
	is.Equal(string(encode128(nil, all)), "7zzzzzzzzzzzzzzzzzzzzzzzzz")
}

func TestTimeRangeContains(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before, after := noon.Add(-time.Millisecond), noon.Add(time.Millisecond)
	for _, tt := range []struct {
		name string
		r    TimeRange
		t    time.Time
		want bool
	}{
		{"an open range holds any time", TimeRange{}, noon, true},
		{"an open range holds no time at all", TimeRange{}, time.Time{}, true},
		{"From is within", TimeRange{From: noon}, noon, true},
		{"just before From is not", TimeRange{From: noon}, before, false},
		{"Before is without", TimeRange{Before: noon}, noon, false},
		{"just before Before is within", TimeRange{Before: noon}, before, true},
		{"within both bounds", TimeRange{From: before, Before: after}, noon, true},
		{"a bound leaves out records without the time", TimeRange{From: noon}, time.Time{}, false},
		{"unless OrNone is set", TimeRange{From: noon, OrNone: true}, time.Time{}, true},
		{"OrNone changes nothing for a time out of range", TimeRange{From: noon, OrNone: true}, before, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is.New(t).Equal(tt.r.Contains(tt.t), tt.want)
		})
	}
}

func TestLimit(t *testing.T) {
	is := is.New(t)
	is.Equal(Limit(0), MaxLimit)
	is.Equal(Limit(-1), MaxLimit)
	is.Equal(Limit(1), 1)
	is.Equal(Limit(MaxLimit), MaxLimit)
	is.Equal(Limit(MaxLimit+1), MaxLimit)
}
