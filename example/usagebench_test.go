//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

const (
	meteredLicenses = 5000
	reportsTogether = 100
	usageCallers    = 16
)

// BenchmarkUsage measures reports of usage and validations with a meter beside create and
// validate, on SQLite with 16 callers at a time, without the network. cpu-µs/op is the
// processor time of this process. On a machine that runs other programs too, run it several
// times, and compare medians:
//
//	for i in 1 2 3 4 5; do go test -run '^$' -bench Usage ./example; done
func BenchmarkUsage(b *testing.B) {
	h, _, _, bearer := benchHandler(b, filepath.Join(b.TempDir(), "bench.db"))
	plain, metered := usageKeys(b, h, nil), usageKeys(b, h, map[string]api.Meter{"exports": {Limit: new(int64(1e12)), Per: api.PerMonth}})
	var n atomic.Int64
	newID := func() string { return fmt.Sprint("request ", n.Add(1)) }
	report := func(id string) string { return `{"meter":"exports","id":"` + id + `","total":1}` }
	withKey := func(path, key, more string) *http.Request {
		r := httptest.NewRequest("POST", path, strings.NewReader(`{"key":"`+key+`"`+more+`}`))
		r.Header.Set("Content-Type", "application/json")
		return r
	}
	anyOf := func(keys []string) string { return keys[rand.IntN(len(keys))] }
	if err := h.Service().Atomically(b.Context(), func(svc *license.Service) error {
		for _, key := range metered {
			p := api.CountUsageParams{Key: key, Usage: []api.UsageReport{{Meter: "exports", ID: "again", Total: 1}}}
			if _, err := h.Metering().In(svc).CountUsage(b.Context(), p); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	one := func(key, id string) *http.Request { return withKey("/license/usage", key, `,"usage":[`+report(id)+`]`) }

	b.Run("Create", func(b *testing.B) {
		usageRequests(b, h, http.StatusCreated, func() *http.Request {
			return bearer("POST", "/license", `{"name":"Atlas Team","product_id":"atlas","customer_id":"cus_new"}`)
		})
	})
	b.Run("Report", func(b *testing.B) {
		usageRequests(b, h, http.StatusOK, func() *http.Request { return one(anyOf(metered), newID()) })
	})
	b.Run("ReportOneLicense", func(b *testing.B) {
		usageRequests(b, h, http.StatusOK, func() *http.Request { return one(metered[0], newID()) })
	})
	b.Run("ReportRepeated", func(b *testing.B) {
		usageRequests(b, h, http.StatusOK, func() *http.Request { return one(anyOf(metered), "again") })
	})
	b.Run("Report100", func(b *testing.B) { // 100 new IDs in a request
		usageRequests(b, h, http.StatusOK, func() *http.Request {
			all := make([]string, reportsTogether)
			for i := range all {
				all[i] = report(newID())
			}
			return withKey("/license/usage", anyOf(metered), `,"usage":[`+strings.Join(all, ",")+`]`)
		})
	})
	b.Run("Validate", func(b *testing.B) {
		usageRequests(b, h, http.StatusOK, func() *http.Request { return withKey("/license/validate", anyOf(plain), "") })
	})
	b.Run("ValidateMeter", func(b *testing.B) {
		usageRequests(b, h, http.StatusOK, func() *http.Request { return withKey("/license/validate", anyOf(metered), "") })
	})
}

// BenchmarkUsageSize measures the bytes that a file grows by for each ID.
func BenchmarkUsageSize(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bench.db")
	st, err := sqlite.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	svc := licensing.NewHandler(st, licensing.Options{})
	keys := usageKeys(b, svc, map[string]api.Meter{"exports": {}})
	const ids = 100_000
	size := func() (bytes int64) {
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err == nil {
			st, err = sqlite.Open(path)
		}
		if err != nil {
			b.Fatal(err)
		}
		return info.Size()
	}
	for b.Loop() {
		before := size()
		metering := licensing.NewHandler(st, licensing.Options{}).Metering()
		for n := 0; n < ids; n += reportsTogether {
			p := api.CountUsageParams{Key: keys[n/reportsTogether%len(keys)]}
			for i := range reportsTogether {
				p.Usage = append(p.Usage, api.UsageReport{Meter: "exports", ID: fmt.Sprint(rand.Int64(), i), Total: 1})
			}
			if _, err := metering.CountUsage(b.Context(), p); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(size()-before)/ids, "B/id")
	}
	st.Close()
}

// usageKeys creates licenses with meters, and returns their keys.
func usageKeys(b *testing.B, h *licensing.Handler, meters map[string]api.Meter) (keys []string) {
	for len(keys) < meteredLicenses {
		err := h.Service().Atomically(b.Context(), func(svc *license.Service) error {
			for range 500 {
				l, err := svc.Create(b.Context(), api.CreateLicenseParams{Name: "License", ProductID: "atlas", CustomerID: "cus_1", Terms: api.Terms{Meters: meters}})
				if err != nil {
					return err
				}
				keys = append(keys, l.Key)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return keys
}

// usageRequests is benchRequests for usageCallers, and reports the processor time.
func usageRequests(b *testing.B, h http.Handler, status int, request func() *http.Request) {
	callers := max(1, usageCallers/runtime.GOMAXPROCS(0))
	before := cpuTime()
	benchRequests(b, h, callers, status, request)
	b.ReportMetric((cpuTime()-before)/float64(b.N), "cpu-µs/op")
}

// cpuTime returns the processor time of this process in microseconds.
func cpuTime() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return float64(used.Utime.Sec+used.Stime.Sec)*1e6 + float64(used.Utime.Usec+used.Stime.Usec)
}
