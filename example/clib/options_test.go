package main

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// TestOptions: each option of package program is one of the library, and reaches it, or is
// among the ones that have no JSON.
func TestOptions(t *testing.T) {
	is := is.New(t)
	members := map[string]any{
		"URL": "url", "Keys": "keys", "ProductID": "product_id", "AlsoProductID": "also_product_id", "Key": "key", "Dir": "dir",
		"Fingerprint": "fingerprint", "Name": "name", "Version": "version", "PerProcess": "per_process", "BuiltAt": "built_at",
		"HTTPClient": nil, // proxy and ca
		"OnChange":   nil, // lk_wait
	}
	for field := range reflect.TypeFor[program.Options]().Fields() {
		member, known := members[field.Name]
		if !known {
			t.Errorf("Options.%s is no option of the library", field.Name)
		}
		if member == nil {
			continue
		}
		var v any = "a text"
		switch field.Type {
		case reflect.TypeFor[bool]():
			v = true
		case reflect.TypeFor[time.Time]():
			v = time.Now()
		}
		text, err := json.Marshal(map[string]any{member.(string): v})
		is.NoErr(err)
		var o options
		is.NoErr(decode(string(text), &o))
		if got := reflect.ValueOf(o.program()).FieldByName(field.Name); got.IsZero() {
			t.Errorf("%s does not reach Options.%s", member, field.Name)
		}
	}
}
