package license_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// exampleService returns a Service at noon of 1 March 2026.
func exampleService() *license.Service {
	return license.New(memory.New(), license.Options{
		Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
	})
}

func ExampleService_Create() {
	ctx := context.Background()
	s := license.New(memory.New(), license.Options{
		BeforeCreate: func(_ context.Context, p *api.CreateLicenseParams) error {
			if p.ProductID != "atlas" {
				return api.Invalid("product_id", api.FieldUnknown, "is not sold here")
			}
			seats := int64(3)
			p.MaxActivations = &seats
			return nil
		},
	})
	l, err := s.Create(ctx, api.CreateLicenseParams{Name: "Atlas for Ada", ProductID: "atlas", CustomerID: "ada"})
	fmt.Println(l.Status, *l.MaxActivations, len(l.Key), err)

	_, err = s.Create(ctx, api.CreateLicenseParams{Name: "Chess for Ada", ProductID: "chess", CustomerID: "ada"})
	fmt.Println(errors.Is(err, api.ErrInvalid), err)
	// Output:
	// active 3 29 <nil>
	// true before create: product_id is not sold here
}

func ExampleService_Update() {
	ctx := context.Background()
	s := exampleService()
	l, _ := s.Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "ada"})

	l, err := s.Update(ctx, api.UpdateLicenseParams{
		ID:           l.ID,
		IfMatch:      []api.Version{l.Version()}, // only if it has not changed since
		ExpiresAt:    api.To(time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)),
		Entitlements: api.To(map[string]any{"export": true, "users": 25}),
	})
	fmt.Println(l.ExpiresAt.Format(time.DateOnly), l.Entitlements, l.Version(), err)
	// Output: 2027-03-01 map[export:true users:25] 2.active <nil>
}

func ExampleService_Renew() {
	ctx := context.Background()
	s := exampleService()
	end := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	l, _ := s.Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "ada", ExpiresAt: &end})

	month, _ := api.ParseDuration("P1M")
	l, err := s.Renew(ctx, api.RenewLicenseParams{ID: l.ID, Duration: month, Reason: "Invoice 1001 paid"})
	fmt.Println(l.ExpiresAt.Format(time.DateOnly), err) // April has no 31st
	// Output: 2026-04-30 <nil>
}

func ExampleService_Suspend() {
	ctx := context.Background()
	s := exampleService()
	l, _ := s.Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "ada"})

	l, _ = s.Suspend(ctx, api.ChangeStateParams{ID: l.ID, Reason: "Payment overdue"})
	fmt.Println(l.Status, l.StatusReason)

	_, err := s.Suspend(ctx, api.ChangeStateParams{ID: l.ID})
	var forbidden *api.StateError
	if errors.As(err, &forbidden) {
		fmt.Println(forbidden.Change, forbidden.From, forbidden.To)
	}
	// Output:
	// suspended Payment overdue
	// suspend suspended suspended
}

func ExampleService_Validate() {
	ctx := context.Background()
	s := exampleService()
	end := time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
	l, _ := s.Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "ada", ExpiresAt: &end})

	v, _ := s.Validate(ctx, api.ValidateKeyParams{Key: strings.ToLower(l.Key), ProductID: "atlas"})
	fmt.Println(v.Valid, v.Code, v.NextChangeAt.Format(time.TimeOnly), v.RecheckAfter)

	v, _ = s.Validate(ctx, api.ValidateKeyParams{Key: l.Key, Entitlements: []string{"export"}})
	fmt.Println(v.Valid, v.Code, v.Reasons[0].Detail)
	// Output:
	// true valid 13:00:00 3600
	// false entitlement_missing The license does not include "export".
}

func ExampleService_Activate() {
	ctx := context.Background()
	s := exampleService()
	seats, lease := int64(1), int64(600)
	l, _ := s.Create(ctx, api.CreateLicenseParams{
		Name: "Atlas", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{MaxActivations: &seats, LeaseSeconds: &lease},
	})

	v, _ := s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "laptop"})
	fmt.Println(v.Activation.Status, v.Activation.LeaseEndsAt.Format(time.TimeOnly))

	_, err := s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "desktop"})
	fmt.Println(errors.Is(err, api.ErrActivationLimit), err)

	v, _ = s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "desktop", TakeOver: api.TakeOverOldest})
	fmt.Println(v.Activation.Status)

	v, _ = s.Validate(ctx, api.ValidateKeyParams{Key: l.Key, Fingerprint: "laptop"})
	fmt.Println(v.Code)
	// Output:
	// live 12:10:00
	// true activate: No seat is free; the license has 1.
	// live
	// evicted
}

func ExampleService_Once() {
	ctx := context.Background()
	s := exampleService().As(license.Caller{Actor: "shop"})
	order := func() (string, bool) {
		reply, replayed, err := s.Once(ctx, "order-1001", "atlas for ada", func(s *license.Service) ([]byte, error) {
			l, err := s.Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "ada"})
			return []byte(l.ID), err
		})
		if err != nil {
			panic(err)
		}
		return string(reply), replayed
	}
	first, _ := order()
	second, replayed := order() // the shop's payment service calls twice
	fmt.Println(first == second, replayed)
	// Output: true true
}

func ExampleService_Atomically() {
	ctx := context.Background()
	s := exampleService()
	err := s.Atomically(ctx, func(s *license.Service) error {
		old, err := s.Create(ctx, api.CreateLicenseParams{Name: "Atlas 1", ProductID: "atlas-1", CustomerID: "ada"})
		if err != nil {
			return err
		}
		if _, err := s.Revoke(ctx, api.ChangeStateParams{ID: old.ID, Reason: "Upgraded"}); err != nil {
			return err
		}
		_, err = s.Create(ctx, api.CreateLicenseParams{Name: "", ProductID: "atlas-2", CustomerID: "ada"})
		return err
	})
	page, _ := s.List(ctx, api.ListLicensesParams{CustomerID: "ada"})
	fmt.Println(err)
	fmt.Println(len(page.Data))
	// Output:
	// name is required
	// 0
}

func ExampleService_Import() {
	ctx := context.Background()
	s := exampleService()
	rows := `{"key":"ATLAS-2019-000001","name":"Atlas","product_id":"atlas","customer_id":"ada"}
{"key":"ATLAS-2019-000002","name":"Atlas","product_id":"atlas"}
`
	err := s.Import(ctx, strings.NewReader(rows), func(r api.RowResult) error {
		fmt.Println(r.Line, r.Result, r.Errors)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1 created []
	// 2 refused [{customer_id required is required}]
	// <nil>
}

func ExampleService_Export() {
	ctx := context.Background()
	s := exampleService()
	s.Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "ada", Key: "ATLAS-2019-000001"})
	err := s.Export(ctx, os.Stdout, api.ListLicensesParams{Status: api.LicenseExpired}) // none
	fmt.Println(err)
	// Output: <nil>
}
