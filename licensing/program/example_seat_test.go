package program_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// sold returns a service of a vendor, and a license of one seat.
func sold() (*licensingtest.Vendor, api.License) {
	vendor, seats := licensingtest.NewVendor(exampleT{}), int64(1)
	l, err := vendor.Handler.Service().Create(context.Background(), api.CreateLicenseParams{
		Name: "Ada", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{MaxActivations: &seats},
	})
	if err != nil {
		log.Fatal(err)
	}
	return vendor, l
}

// install opens the license of a program on a machine, which ends with done.
func install(vendor *licensingtest.Vendor, machine string) (lic *program.License, done func()) {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	lic, err = program.Open(program.Options{
		URL: licensingtest.VendorURL, HTTPClient: vendor.HTTPClient(), // a real program has its own URL, and no HTTPClient
		Keys: vendor.Keys(exampleT{}), ProductID: "atlas", Dir: folder, Fingerprint: machine,
	})
	if err != nil {
		log.Fatal(err)
	}
	return lic, func() {
		lic.Close()
		os.RemoveAll(folder)
	}
}

// A person enters a license key.
func ExampleLicense_SetKey() {
	vendor, l := sold()
	lic, done := install(vendor, "laptop")
	defer done()
	fmt.Println(lic.Status().Valid)
	fmt.Println(lic.SetKey(context.Background(), "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA") != nil) // refused, and not stored
	if err := lic.SetKey(context.Background(), l.Key); err != nil {
		log.Fatal(err)
	}
	fmt.Println(lic.Status().Valid)
	// Output:
	// false
	// true
	// true
}

// A new laptop takes the seat of the old one, which the person has lost.
func ExampleLicense_TakeOver() {
	vendor, l := sold()
	old, done := install(vendor, "old laptop")
	defer done()
	if err := old.SetKey(context.Background(), l.Key); err != nil {
		log.Fatal(err)
	}
	lic, doneToo := install(vendor, "new laptop")
	defer doneToo()
	fmt.Println(lic.SetKey(context.Background(), l.Key) != nil, lic.Status().Code)
	if err := lic.TakeOver(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(lic.Status().Valid)
	// Output:
	// true activation_limit
	// true
}

// An uninstaller gives the seat back.
func ExampleLicense_Release() {
	vendor, l := sold()
	lic, done := install(vendor, "laptop")
	defer done()
	if err := lic.SetKey(context.Background(), l.Key); err != nil {
		log.Fatal(err)
	}
	if err := lic.Release(context.Background()); err != nil {
		log.Fatal(err)
	}
	other, doneToo := install(vendor, "other laptop")
	defer doneToo()
	fmt.Println(lic.Status().Valid, other.SetKey(context.Background(), l.Key))
	// Output: false <nil>
}

// A machine without a network gets a license file: a person carries the request to a
// customer page of the vendor, and the file back.
func ExampleLicense_Install() {
	vendor, l := sold()
	lic, done := install(vendor, "machine in a vault")
	defer done()
	vendor.Die() // the machine has no network
	lic.SetKey(context.Background(), l.Key)
	request, err := lic.Request()
	if err != nil {
		log.Fatal(err)
	}

	answer, err := vendor.Handler.Service().Customer("ada").AnswerRequest(context.Background(), l.ID, request)
	if err != nil {
		log.Fatal(err)
	}
	file, err := vendor.Handler.Files().Sign(context.Background(), *answer.FileClaims())
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(lic.Install(file), lic.Status().Valid)
	// Output: <nil> true
}

// An exampleT is the part of a testing.T that the examples need.
type exampleT struct{ testing.TB }

func (exampleT) Helper() {}
