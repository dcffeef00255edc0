package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/configfile"
	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// decode returns what a configuration file says, by path, and its settings.
func decode(t *testing.T, text string) (map[string]json.RawMessage, settings.Config) {
	t.Helper()
	file, err := configfile.JSON([]byte(text))
	is.New(t).NoErr(err)
	var c settings.Config
	d := configfile.Decoder{Needs: func(string) bool { return false }}
	d.Decode(file, &c)
	is.New(t).Equal(len(d.Faults), 0)
	for path, value := range d.Values {
		var b bytes.Buffer
		is.New(t).NoErr(json.Compact(&b, value))
		d.Values[path] = b.Bytes()
	}
	return d.Values, c
}

// another returns a value of a type that licensekit.json does not have.
func another(path string, of reflect.Type, secret bool) string {
	if of == reflect.TypeFor[*time.Location]() {
		return `"America/Lima"`
	}
	switch of = configfile.Inner(of); of.Kind() {
	case reflect.Struct:
		var b strings.Builder
		for _, f := range configfile.Fields(of) {
			if at := configfile.Join(path, f.Name); !settings.IsOwn(at) {
				fmt.Fprintf(&b, "%q: %s,\n", f.Name, another(at, f.Type, configfile.IsSecret(f)))
			}
		}
		return "{" + b.String() + "}"
	case reflect.Map:
		return `{"z": ` + another(path, of.Elem(), false) + `, "a \"": ` + another(path, of.Elem(), false) + "}"
	case reflect.Bool:
		return "true"
	case reflect.Int, reflect.Int64:
		if of == reflect.TypeFor[time.Duration]() {
			return `"77h"`
		}
		return "77"
	case reflect.Slice:
		if of != reflect.TypeFor[[]byte]() {
			return "[" + another(path, of.Elem(), secret) + "]"
		}
	}
	if secret {
		return `"file:another"`
	}
	return `"another // <text>"`
}

// TestPrintConfig: licensekit config prints each value of a file, and what it prints is a file
// that says the same; without a file, it prints a file that says nothing.
func TestPrintConfig(t *testing.T) {
	is := is.New(t)
	file := another("", reflect.TypeFor[settings.Config](), false)
	given, config := decode(t, file)
	values := allValues(t)
	for path := range values {
		isPart := strings.ContainsAny(path, "[_") || strings.HasSuffix(path, ".atlas") // of a list or a map
		if !isPart && (given[path] == nil || string(given[path]) == string(values[path])) {
			t.Errorf("the test gives %s no value of its own: %s", path, given[path])
		}
	}
	printed, again := decode(t, withValues(allSettings, given))
	for path := range given {
		if string(printed[path]) != string(given[path]) {
			t.Errorf("%s is printed as %q, and not as %q", path, printed[path], given[path])
		}
	}
	is.Equal(len(printed), len(given))
	is.True(reflect.DeepEqual(again, config))

	is.Equal(output(t, nil, "config"), allSettings)
	name := filepath.Join(t.TempDir(), "licensekit.json")
	is.NoErr(os.WriteFile(name, []byte(`{"Store": "$NOT_SET_HERE/licenses.db", "Payments": {"Polar": {"Secrets": ["env:NOT_SET_HERE"]}}, "Options": {"ProductNames": {"b": "1", "a": "2",}}}`), 0o600))
	out := output(t, nil, "config", "--config", name)
	decode(t, out)
	require.Contains(t, out, `
  "Store": "$NOT_SET_HERE/licenses.db",
`, `    "ProductNames": {"b":"1","a":"2"},`, `
    "Polar": {
      // of the webhook; two while it is replaced
      "Secrets": ["env:NOT_SET_HERE"],`, `
    //"Stripe": {`)
	is.NoErr(os.WriteFile(name, []byte(`{"Options": {"MasterKey": "hunter2"}, "addr": 1}`), 0o600))
	text, err := program(t, nil, "config", "--config", name).CombinedOutput()
	is.True(err != nil)
	require.Contains(t, string(text), "Options.MasterKey is a secret", "it is written Addr")
	require.NotContains(t, string(text), "hunter2")
}
