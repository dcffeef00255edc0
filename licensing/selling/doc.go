/*
Package selling sells licenses: plans hold the terms that a shop sells, purchases are what
a payment provider reports in any order, and trials end by themselves. Its [Service] is
Handler.Selling of package licensing:

	purchase, err := h.Selling().RecordPurchase(ctx, api.RecordPurchaseParams{
		Reference: "shop:1001", CustomerID: "ada", PlanID: "team", State: api.PurchaseActive,
	})
	if err != nil {
		return err // deliver the event again
	}
	fmt.Println(purchase.License.Key)

A Service acts for the Caller of a [license.Service], with the same checks and events, and
[Service.In] makes its calls part of an Update of that. Errors are those of package api.
*/
package selling
