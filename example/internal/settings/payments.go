package settings

import (
	"context"
	"net/http"
	"reflect"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// An Account is an account at a payment provider.
type Account struct {
	Name string // of the provider
	Provider
	Syncs bool // it has a key to read with
}

// A Provider is a type of package payment.
type Provider interface {
	Validate() error
	Handler(sales *selling.Service) http.Handler
	Sync(ctx context.Context, sales *selling.Service) error
}

// Accounts returns the accounts that are set.
func (p Payments) Accounts() (all []Account) {
	for f, v := range reflect.ValueOf(p).Fields() {
		if !v.IsNil() {
			all = append(all, Account{f.Name, v.Interface().(Provider), v.Elem().FieldByName("Key").String() != ""})
		}
	}
	return all
}
