package servicetest

// reach finds, exports, renames and erases, as operators do in the dashboard.
func (g *golden) reach() {
	g.call("GET", "/license?search=cus_8&newest_first&limit=1", "")
	g.call("GET", "/license?plan_id=price_1&limit=1", "")
	g.call("GET", "/license?only=money", "")
	g.call("GET", "/event?customer_id=cus_8&type=license.created&type=plan.*&newest_first&before=2027-01-01T00:00:00Z&limit=1", "")
	g.call("GET", "/event?before=2027-01-01T00:00:00Z", "")

	g.call("PUT", "/plan/club", `{"product_id":"club","duration":"P1Y"}`)
	g.call("PUT", "/purchase/shop:11", `{"at":"2026-01-01T00:00:00Z","customer_id":"cus_11","plan_id":"gold","state":"active"}`)
	g.call("PUT", "/plan/gold", `{"product_id":"club"}`)
	g.call("POST", "/plan/gold/waiting", "")
	g.call("POST", "/plan/gold/waiting", `{"cursor":"x"}`)
	g.call("POST", "/plan/gold/waiting", "", "Idempotency-Key", "k")
	g.call("PUT", "/purchase/shop:9", `{"at":"2026-01-01T00:00:00Z","customer_id":"cus_12","plan_id":"club","state":"active"}`)
	g.call("POST", "/purchase/shop:9/reopen", "")
	g.call("POST", "/purchase/shop:10/reopen", "")
	g.call("PUT", "/purchase/shop:9", `{"at":"2026-01-02T00:00:00Z","state":"refunded"}`)
	g.call("POST", "/purchase/shop:9/reopen", `{"reason":"by mistake"}`, "Idempotency-Key", "r")
	g.call("POST", "/purchase/shop:9/reopen", `{"reason":"by mistake"}`, "Idempotency-Key", "r")
	g.call("GET", "/export/license.csv?customer_id=cus_12", "")
	trial := g.call("POST", "/license/trial", `{"plan_id":"club","customer_id":"cus_14"}`).json["license"].(map[string]any)["id"].(string)
	g.call("POST", "/license/"+trial+"/trial", `{"reason":"was ill"}`, "Idempotency-Key", "t")
	g.call("POST", "/license/"+trial+"/trial", "")
	g.call("POST", "/customer/cus_12/rename", `{"to":"cus_13","reason":"acquired"}`)
	g.call("POST", "/customer/cus_13/rename", `{"to":"lic_1"}`)
	g.call("POST", "/customer/cus_13/rename", `{"to":"cus_13"}`, "Idempotency-Key", "k")
	g.call("GET", "/customer/cus_13/export", "")
	g.call("DELETE", "/customer/cus_13", "", "Idempotency-Key", "k")
	g.call("DELETE", "/customer/cus_13", "")
}
