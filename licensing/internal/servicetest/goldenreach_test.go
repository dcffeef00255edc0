package servicetest

// reach finds, exports, renames and erases, as operators do in the dashboard.
func (g *golden) reach() {
	g.call("GET", "/license?search=cus_8&newest_first&limit=1", "")
	g.call("GET", "/license?plan_id=price_1&limit=1", "")
	g.call("GET", "/license?only=money", "")
	g.call("GET", "/event?customer_id=cus_8&type=license.created&type=plan.*&newest_first&before=2027-01-01T00:00:00Z&limit=1", "")
	g.call("GET", "/event?before=2027-01-01T00:00:00Z", "")
}
