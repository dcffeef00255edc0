package licensing_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// span starts a span of a tracing library and ends it; ctx has the span of the caller.
type span func(ctx context.Context, name string, start, end time.Time, attributes ...slog.Attr)

// trace makes a span of each observation: in OpenTelemetry, tracer.Start with
// trace.WithTimestamp(start), and End with trace.WithTimestamp(end).
func trace(record span) func(context.Context, licensing.Observation) {
	return func(ctx context.Context, o licensing.Observation) {
		end := time.Now()
		attributes := []slog.Attr{slog.String("outcome", string(o.Outcome)), slog.String("request_id", o.RequestID)}
		name := string(o.Kind) + " " + o.Name
		if o.Kind == licensing.ObservationRequest {
			name = o.Method + " " + o.Route
			attributes = append(attributes, slog.Int("http.response.status_code", o.Status))
		}
		record(ctx, name, end.Add(-o.Duration), end, attributes...)
	}
}

func ExampleOptions_tracing() {
	record := func(_ context.Context, name string, start, end time.Time, attributes ...slog.Attr) {
		fmt.Println(name, !end.Before(start), attributes[len(attributes)-1])
	}
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler), Observe: trace(record)})
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/license/lic_1", nil))
	// Output: GET /license/{licenseID} true http.response.status_code=401
}
