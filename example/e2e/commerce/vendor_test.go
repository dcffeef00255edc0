package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
)

// TestStripeTypes: each field that package payment reads of Stripe's objects is one of the type
// that Stripe's library has for them, and the version is that of the library.
func TestStripeTypes(t *testing.T) {
	is := is.New(t)
	is.Equal(fakestripe.Version, stripe.APIVersion)
	vendor := map[string][]any{
		"stripeSession": {stripe.CheckoutSession{}}, "stripeSubscription": {stripe.Subscription{}}, "stripeInvoice": {stripe.Invoice{}}, "stripeInvoicePayment": {stripe.InvoicePayment{}},
		"stripeItem": {stripe.SubscriptionItem{}, stripe.LineItem{}}, "stripeCustomer": {stripe.Customer{}, stripe.CheckoutSessionCustomerDetails{}},
	}
	optional := map[string]bool{"current_period_end": true, "id": true} // of one of the two types
	checked := map[string]bool{}
	for _, name := range []string{"stripesubscription.go", "stripecheckout.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), "../../../licensing/payment/"+name, nil, 0)
		is.NoErr(err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if ok && vendor[spec.Name.Name] != nil {
				checked[spec.Name.Name] = true
				for _, known := range vendor[spec.Name.Name] {
					for _, missing := range missingFields(spec.Type.(*ast.StructType), reflect.TypeOf(known)) {
						if len(vendor[spec.Name.Name]) == 1 || !optional[missing] {
							t.Errorf("%s reads %s, which %T does not have", spec.Name.Name, missing, known)
						}
					}
				}
			}
			return true
		})
	}
	is.Equal(len(checked), len(vendor))
}

// missingFields returns the names in JSON of the fields of a struct that a type does not have.
func missingFields(of *ast.StructType, known reflect.Type) (missing []string) {
	for known.Kind() == reflect.Pointer {
		known = known.Elem()
	}
	tags := map[string]reflect.Type{}
	for field := range known.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		tags[name] = field.Type
	}
	for _, field := range of.Fields.List {
		names := []string{"id"} // an embedded stripeID
		if len(field.Names) > 0 {
			names = nil
		}
		for _, name := range field.Names {
			names = append(names, strings.ToLower(name.Name))
		}
		if field.Tag != nil {
			tag, _ := strconv.Unquote(field.Tag.Value)
			names = []string{reflect.StructTag(tag).Get("json")}
		}
		for _, name := range names {
			typ, ok := tags[name]
			if !ok {
				missing = append(missing, name)
				continue
			}
			inner := field.Type
			if pointer, ok := inner.(*ast.StarExpr); ok {
				inner = pointer.X
			}
			if nested, ok := inner.(*ast.StructType); ok {
				missing = append(missing, missingFields(nested, typ)...)
			}
		}
	}
	return missing
}

// TestStripeEventsAreTheirs: Stripe's library verifies and parses the events of the fake account,
// and its type of each object has the ID and the payment that package payment reads.
func TestStripeEventsAreTheirs(t *testing.T) {
	is := is.New(t)
	a := fakestripe.New()
	a[dispute]["payment_intent"] = paymentIntent
	for kind, id := range map[string]string{
		"checkout.session.completed": checkout, "customer.subscription.updated": fakestripe.Subscription, "charge.refunded": charge, "charge.dispute.created": dispute,
	} {
		body := a.Event(kind, id, stripe.APIVersion)
		event, err := webhook.ConstructEvent(body, signed(t.Context(), "stripe", body).Header.Get("Stripe-Signature"), secret)
		is.NoErr(err)
		is.Equal([]any{string(event.Type), event.GetObjectValue("object") != "", event.GetObjectValue("id")}, []any{kind, true, id})
		if strings.HasPrefix(kind, "charge.") {
			is.Equal(event.GetObjectValue("payment_intent"), paymentIntent)
		}
	}
}
