// Package payment turns what payment providers report into purchases: [Stripe], [Paddle],
// [Polar] and [LemonSqueezy]. Each is a value with the secrets of an account. Mount its
// Handler at the URL that the provider sends its events to:
//
//	stripe := payment.Stripe{Key: "rk_…", Secrets: []string{"whsec_…"}}
//	mux.Handle("/payments/stripe", stripe.Handler(h.Selling()))
//
// The ID of a plan is that of the price at Stripe and Paddle, of the product at Polar, and
// of the variant at Lemon Squeezy. A license has the name of the customer, and the address in
// its metadata as email, as far as they are valid.
//
// Events arrive late, twice and in any order, and end in the same license. An event that
// fails is answered with an error and the reason, so that the provider repeats it and shows
// the reason, and is logged. While one has failed with a state that this package does not
// know, was refused for good, or has failed three times, Handler.Health of package licensing
// has the problem payment_failing. States gives a new state of a provider a meaning without a
// new version of this package.
//
// Sync reads what events have missed. Call it at start and then every night, for Polar every
// hour; it may run concurrently with the Handler, and one of an account waits for another.
package payment
