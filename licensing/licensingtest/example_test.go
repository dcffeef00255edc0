package licensingtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

// sell is the code under test.
func sell(ctx context.Context, h *licensing.Handler, customerID string) (api.License, error) {
	expires := h.Service().Options().Now().AddDate(1, 0, 0)
	return h.Service().Create(ctx, api.CreateLicenseParams{
		Name: "Atlas Team", ProductID: "atlas", CustomerID: customerID, ExpiresAt: &expires,
	})
}

// A test of an application sells a license and looks at it a year later.
func ExampleNew() {
	var t testing.TB = exampleT{} // in a test, its *testing.T

	kit := licensingtest.New(t, licensing.Options{})
	sold, err := sell(t.Context(), kit.Handler, "cus_1")
	if err != nil {
		t.Fatal(err)
	}
	events := kit.Events()
	fmt.Println(events[len(events)-1].Type)

	kit.Clock.Advance(366 * 24 * time.Hour)
	v, err := kit.Handler.Service().Validate(t.Context(), api.ValidateKeyParams{Key: sold.Key, ProductID: "atlas"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(v.Valid, v.Code)
	// Output:
	// license.created
	// false expired
}

// An exampleT is the part of a testing.T that the example needs.
type exampleT struct{ testing.TB }

func (exampleT) Helper()                  {}
func (exampleT) Context() context.Context { return context.Background() }
func (exampleT) Fatal(args ...any)        { panic(fmt.Sprint(args...)) }
func (exampleT) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
