package servicetest

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// TestAWebhookSaysHowManyEventsWait in the answer to a request for it, and in no list.
func TestAWebhookSaysHowManyEventsWait(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	id := c.do("POST", "/webhook", `{"url":"https://shop.example/","types":["license.created"]}`).json["id"].(string)
	waiting := func() any { return c.do("GET", "/webhook/"+id, "").json["waiting"] }
	is.Equal(waiting(), 0.0)
	is.Equal(c.do("PATCH", "/webhook/"+id, `{"status":"paused"}`).json["waiting"], nil)
	for range 3 {
		is.Equal(c.do("POST", "/license", `{"name":"Ada","product_id":"atlas","customer_id":"c"}`).Code, http.StatusCreated)
	}
	is.Equal(waiting(), 3.0)
	is.Equal(c.do("GET", "/webhook/"+id, "").json["waiting_more"], nil)
	is.Equal(c.do("GET", "/webhook", "").json["data"].([]any)[0].(map[string]any)["waiting"], nil)
}
