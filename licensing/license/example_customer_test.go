package license_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A page of the host shows a customer the licenses and devices of that customer only, and
// removes a device.
func ExampleService_Customer() {
	ctx := context.Background()
	s := license.New(memory.New(), license.Options{})
	l, err := s.Create(ctx, api.CreateLicenseParams{Name: "Atlas for Ada", ProductID: "atlas", CustomerID: "ada"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, ProductID: "atlas", Fingerprint: "laptop"}); err != nil {
		log.Fatal(err)
	}
	ada := s.Customer("ada") // from a verified session
	licenses, err := ada.List(ctx, api.ListLicensesParams{NewestFirst: true, Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	devices, err := ada.Activations(ctx, api.ListActivationsParams{LicenseID: licenses.Data[0].ID})
	if err != nil {
		log.Fatal(err)
	}
	released, err := ada.Release(ctx, l.ID, devices.Data[0].ID)
	fmt.Println(released.Fingerprint, err)

	_, err = s.Customer("bob").Get(ctx, l.ID)
	fmt.Println(errors.Is(err, api.ErrNotFound))
	// Output:
	// laptop <nil>
	// true
}

// A company is sold, and its license gets a new key, which the former customer does not
// know.
func ExampleService_Transfer() {
	ctx := context.Background()
	s := license.New(memory.New(), license.Options{})
	l, err := s.Create(ctx, api.CreateLicenseParams{Name: "Initech", ProductID: "atlas", CustomerID: "initech"})
	if err != nil {
		log.Fatal(err)
	}
	moved, err := s.Transfer(ctx, api.TransferLicenseParams{ID: l.ID, CustomerID: "initrode", Name: "Initrode"})
	if err != nil {
		log.Fatal(err)
	}
	v, err := s.Validate(ctx, api.ValidateKeyParams{Key: l.Key, ProductID: "atlas"})
	fmt.Println(moved.Name, moved.Key != l.Key, v.Code, err)
	// Output: Initrode true not_found <nil>
}
