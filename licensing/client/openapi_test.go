package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
)

// A description is what the tests read from openapi.json.
type description struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas    map[string]apiSchema
		Parameters map[string]apiParameter
	}
}

type apiSchema struct {
	Ref        string `json:"$ref"`
	Type       any
	Const      any
	Enum       []any
	Properties map[string]apiSchema
	Items      *apiSchema
	OneOf      []apiSchema
}

type apiParameter struct {
	Ref      string `json:"$ref"`
	Name, In string
}

type apiOperation struct {
	OperationID string
	Method      string
	Path        string
	Parameters  []apiParameter
	RequestBody struct {
		Content map[string]struct{ Schema apiSchema }
	}
}

func describe(t *testing.T) (d description, operations map[string]apiOperation) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../internal/http/endpoints/openapi.json"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	operations = map[string]apiOperation{}
	for path, item := range d.Paths {
		var shared []apiParameter
		if raw := item["parameters"]; raw != nil {
			if err := json.Unmarshal(raw, &shared); err != nil {
				t.Fatal(err)
			}
		}
		for method, raw := range item {
			var o apiOperation
			if method == "parameters" {
				continue
			}
			if err := json.Unmarshal(raw, &o); err != nil {
				t.Fatal(err)
			}
			o.Method, o.Path = strings.ToUpper(method), path
			o.Parameters = append(o.Parameters, shared...)
			for i, p := range o.Parameters {
				if p.Ref != "" {
					o.Parameters[i] = d.Components.Parameters[refName(p.Ref)]
				}
			}
			operations[o.OperationID] = o
		}
	}
	return d, operations
}

func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// covered are the operations that the method of another operation sends.
var covered = map[string]string{
	"issueTokenByQuery": "IssueToken; this one has the secret in the URL",
	"updateLicenseByID": "UpdateLicense",
}

// notSent are the parameters and members that methods do not send.
var notSent = map[string]string{
	"getLicense header If-None-Match": "a caller that keeps licenses reads the event feed",
	"getLicense header If-Match":      "useful with a change only",
	"getPlan header If-None-Match":    "plans are read rarely", "getPlan header If-Match": "useful with a change only",
	"getLicense query limit":    "of the list of a customer: ListLicenses",
	"getLicense query cursor":   "of the list of a customer: ListLicenses",
	"issueToken body client_id": "in Authorization", "issueToken body client_secret": "in Authorization",
	"revokeToken body client_id": "in Authorization", "revokeToken body client_secret": "in Authorization",
	"introspectToken body client_id": "in Authorization", "introspectToken body client_secret": "in Authorization",
	"revokeToken body token_type_hint": "ignored by the service", "introspectToken body token_type_hint": "ignored by the service",
	"getDescription header If-None-Match":     "a program reads the description once",
	"getFileKeys header If-None-Match":        "a build fetches the keys once",
	"getFileRevocations header If-None-Match": "a program fetches the list daily",
	"updateLicense query id":                  "in the path", "updateLicense body id": "in the path",
}

// A recorder keeps the requests and answers each with an empty success. The
// first page of a list has a second one.
type recorder struct {
	requests []*http.Request
	bodies   [][]byte
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	mediaType, answer := "application/json", `{}`
	switch path := req.URL.Path; {
	case strings.HasPrefix(path, "/export/"), strings.HasPrefix(path, "/import/"):
		mediaType, answer = "application/x-ndjson", ""
	case path == "/oauth/token":
		answer = `{"access_token":"lat_1","expires_in":3600}`
	default:
		answer = fmt.Sprintf(`{"data":[],"has_more":%t,"next_cursor":"x"}`, len(r.requests) < 2)
	}
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	r.requests, r.bodies = append(r.requests, req), append(r.bodies, body)
	return respond(200, mediaType, answer), nil
}

func respond(status int, mediaType, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {mediaType}}, Body: io.NopCloser(strings.NewReader(body))}
}

// TestEveryOperationHasAMethod calls each method with every field set, and
// compares the requests with openapi.json: path, query, headers and members.
func TestEveryOperationHasAMethod(t *testing.T) {
	d, operations := describe(t)
	methods := map[string]bool{}
	for id, o := range operations {
		if covered[id] != "" {
			continue
		}
		name := strings.ToUpper(id[:1]) + id[1:]
		methods[name] = true
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			r := &recorder{}
			c, err := client.New(client.Options{URL: "http://licensing.test", ClientID: "cid_1", ClientSecret: "csk_1", HTTPClient: &http.Client{Transport: r}})
			is.NoErr(err)
			method := reflect.ValueOf(c).MethodByName(name)
			if !method.IsValid() {
				t.Fatalf("no method for the operation %s", id)
			}
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for i := 1; i < method.Type().NumIn(); i++ {
				args = append(args, filled(method.Type().In(i)))
			}
			if id == "updateLicense" { // first without an ID, then with one
				p := args[1].Interface().(api.UpdateLicenseParams)
				p.ID, p.ProductID, p.CustomerID = "", nil, nil
				method.Call([]reflect.Value{args[0], reflect.ValueOf(p)})
				sent := r.take("/license")
				d.compare(t, o, sent)
				o = operations["updateLicenseByID"]
			}
			if params := args[len(args)-1]; strings.HasSuffix(params.Type().PkgPath(), "/api") {
				unset(params, o)
			}
			results := method.Call(args)
			if results[0].Kind() == reflect.Func {
				for range results[0].Seq2() {
				}
			}
			d.compare(t, o, r.take(o.Path))
		})
	}
	typ := reflect.TypeFor[*client.Client]()
	for m := range typ.Methods() {
		if !methods[m.Name] && m.Name != "Once" && m.Name != "ListLicensesPage" {
			t.Errorf("the method %s has no operation", m.Name)
		}
	}
}

// take removes the recorded requests and returns those to a path, in which a
// parameter is "x".
func (r *recorder) take(path string) (sent recorder) {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = "x"
		}
	}
	path = strings.Join(parts, "/")
	for i, req := range r.requests {
		if req.URL.Path == path {
			sent.requests, sent.bodies = append(sent.requests, req), append(sent.bodies, r.bodies[i])
		}
	}
	*r = recorder{}
	return sent
}

// compare compares what was sent with an operation.
func (d description) compare(t *testing.T, o apiOperation, sent recorder) {
	t.Helper()
	if len(sent.requests) == 0 {
		t.Errorf("nothing was sent to %s", o.Path)
		return
	}
	got, want := map[string]bool{}, map[string]bool{}
	for i, req := range sent.requests {
		if req.Method != o.Method {
			t.Errorf("the method is %s, want %s", req.Method, o.Method)
		}
		for name := range req.URL.Query() {
			got["query "+name] = true
		}
		for _, name := range []string{"If-Match", "If-None-Match", "Idempotency-Key"} {
			if req.Header.Get(name) != "" {
				got["header "+name] = true
			}
		}
		members := map[string]any{}
		if line, _, _ := bytes.Cut(sent.bodies[i], []byte("\n")); len(line) > 0 {
			if err := json.Unmarshal(line, &members); err != nil {
				t.Fatal(err)
			}
			if _, ok := o.RequestBody.Content[req.Header.Get("Content-Type")]; !ok {
				t.Errorf("the media type of the body is %q", req.Header.Get("Content-Type"))
			}
		}
		for name := range members {
			got["body "+name] = true
		}
	}
	for _, p := range o.Parameters {
		if p.In != "path" {
			want[p.In+" "+p.Name] = true
		}
	}
	for _, content := range o.RequestBody.Content {
		s := d.resolve(content.Schema)
		if s.Items != nil {
			s = d.resolve(*s.Items)
		}
		for name := range s.Properties {
			want["body "+name] = true
		}
	}
	for name := range want {
		id := strings.TrimSuffix(o.OperationID, "ByID")
		if !got[name] && notSent[id+" "+name] == "" {
			t.Errorf("%s is never sent", name)
		}
	}
	for name := range got {
		if !want[name] {
			t.Errorf("%s is sent, and not in openapi.json", name)
		}
	}
}

func (d description) resolve(s apiSchema) apiSchema {
	if s.Ref != "" {
		return d.Components.Schemas[refName(s.Ref)]
	}
	return s
}

// unset removes the values of parameters that have no place in a request of an
// operation.
func unset(params reflect.Value, o apiOperation) {
	reads := o.Method == http.MethodGet || o.Method == http.MethodDelete
	for _, f := range reflect.VisibleFields(params.Type()) {
		inPath := f.Tag.Get("path") != "" && strings.Contains(o.Path, "{"+f.Tag.Get("path")+"}")
		inBody := !reads && f.Tag.Get("json") != "" && f.Tag.Get("json") != "-"
		if !f.Anonymous && !inPath && !inBody && f.Tag.Get("query")+f.Tag.Get("header") == "" {
			params.FieldByIndex(f.Index).SetZero()
		}
	}
}

// filled returns a value of a type in which every field is set. Strings are
// "x".
func filled(typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Interface:
		if typ == reflect.TypeFor[io.Writer]() {
			return reflect.ValueOf(io.Discard)
		}
		v.Set(reflect.ValueOf(true))
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		v.Elem().Set(filled(typ.Elem()))
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(typ.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(filled(typ.Key()), filled(typ.Elem()))
	case reflect.Struct:
		if typ == reflect.TypeFor[time.Time]() {
			return reflect.ValueOf(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
		}
		for i := range typ.NumField() {
			if typ.Field(i).Name != "Null" { // of a Change
				v.Field(i).Set(filled(typ.Field(i).Type))
			}
		}
	default:
		panic(typ.String())
	}
	return v
}

// results are the schemas of responses, and their types.
var results = map[string]reflect.Type{
	"License": reflect.TypeFor[api.License](), "LicenseBatch": reflect.TypeFor[api.Batch](), "LicenseWithKey": reflect.TypeFor[api.License](), "Verdict": reflect.TypeFor[api.Verdict](), "Reason": reflect.TypeFor[api.Reason](),
	"Activation": reflect.TypeFor[api.Activation](), "Event": reflect.TypeFor[api.Event](), "EventData": reflect.TypeFor[api.EventData](),
	"EventList": reflect.TypeFor[api.Page[api.Event]](), "FieldChange": reflect.TypeFor[api.FieldChange](), "EventFile": reflect.TypeFor[api.EventFile](), "EventSigningKey": reflect.TypeFor[api.EventSigningKey](), "EventClient": reflect.TypeFor[api.EventClient](), "EventSecret": reflect.TypeFor[api.EventSecret](),
	"EventOperator": reflect.TypeFor[api.EventOperator](), "EventExport": reflect.TypeFor[api.EventExport](), "ExportFilter": reflect.TypeFor[api.ExportFilter](), "LicenseFile": reflect.TypeFor[api.LicenseFile](), "Webhook": reflect.TypeFor[api.Webhook](),
	"WebhookWithSecret": reflect.TypeFor[api.WebhookWithSecret](), "WebhookSecret": reflect.TypeFor[api.WebhookSecret](),
	"Delivery": reflect.TypeFor[api.Delivery](), "Attempt": reflect.TypeFor[api.Attempt](), "LicenseRow": reflect.TypeFor[api.LicenseRow](),
	"RowResult": reflect.TypeFor[api.RowResult](), "RowError": reflect.TypeFor[api.RowError](), "Token": reflect.TypeFor[client.Token](),
	"Introspection": reflect.TypeFor[client.Introspection](), "Metadata": reflect.TypeFor[client.Metadata](), "Health": reflect.TypeFor[client.Health](),
	"Problem": reflect.TypeFor[api.Problem](), "FieldError": reflect.TypeFor[api.FieldError](),
	"Plan": reflect.TypeFor[api.Plan](), "PlanUse": reflect.TypeFor[api.PlanUse](), "PlanRollout": reflect.TypeFor[api.PlanRollout](), "Purchase": reflect.TypeFor[api.Purchase](), "PurchaseField": reflect.TypeFor[api.PurchaseField](), "Trial": reflect.TypeFor[api.Trial](), "UpcomingChange": reflect.TypeFor[api.UpcomingChange](), "Refusal": reflect.TypeFor[api.Refusal](), "RefusalDay": reflect.TypeFor[api.RefusalDay](), "RefusedCall": reflect.TypeFor[api.RefusedCall](),
	"Meter": reflect.TypeFor[api.Meter](), "MeterUse": reflect.TypeFor[api.MeterUse](), "Usage": reflect.TypeFor[api.Usage](), "UsageBatch": reflect.TypeFor[api.UsageBatch](),
	"LicenseList": reflect.TypeFor[api.Page[api.License]](), "PlanList": reflect.TypeFor[api.Page[api.Plan]](), "PurchaseList": reflect.TypeFor[api.Page[api.Purchase]](), "ActivationList": reflect.TypeFor[api.Page[api.Activation]](),
	"RefusalList": reflect.TypeFor[api.Page[api.Refusal]](), "WebhookList": reflect.TypeFor[api.Page[api.Webhook]](), "DeliveryList": reflect.TypeFor[api.Page[api.Delivery]](), "UsagePeriodList": reflect.TypeFor[api.Page[api.UsagePeriod]](),
	"Link": reflect.TypeFor[api.Link](), "LinkState": reflect.TypeFor[api.LinkState](), "UsagePeriod": reflect.TypeFor[api.UsagePeriod](), "UsageCount": reflect.TypeFor[api.UsageCount](), "CustomerSuspension": reflect.TypeFor[api.CustomerSuspension](),
	"Sales": reflect.TypeFor[api.Sales](), "SalesNumbers": reflect.TypeFor[api.SalesNumbers](), "PlanSales": reflect.TypeFor[api.PlanSales](), "DaySales": reflect.TypeFor[api.DaySales](),
	"PlanTakeUp": reflect.TypeFor[api.PlanTakeUp](), "CustomerRename": reflect.TypeFor[api.ChangedCustomerID](), "CustomerErasure": reflect.TypeFor[api.Erased](),
}

// noResult are the schemas without a type of their own.
var noResult = []string{
	// Bodies of requests, compared by TestEveryOperationHasAMethod.
	"CreateLicenseBody", "CreateBatchBody", "ClaimLicenseBody", "UpdateLicenseBody", "ChangeStateBody", "ChangeCustomerStateBody", "RenewLicenseBody", "RekeyLicenseBody", "TransferLicenseBody", "ValidateKeyBody", "ActivateKeyBody", "DeactivateKeyBody", "StartLinkBody", "PollLinkBody", "ListActivationsBody", "IssueFileBody", "IssueFileByKeyBody", "VoidFilesBody",
	"PutPlanBody", "ApplyPlanBody", "RollOutPlanBody", "RecordPurchaseBody", "StartTrialBody", "TokenRequest", "TokenBody", "CreateWebhookBody", "UpdateWebhookBody", "RotateWebhookBody", "LicenseRows",
	"TakeUpWaitingBody", "ChangeCustomerIDBody", "ReopenPurchaseBody", "AllowTrialBody", "TrialAllowed", "CountUsageBody", "RecordUsageBody", "LicenseUsage", "UsageReport", "CorrectUsageBody",
	// Rows, which an iterator hides.
	"RowResults",
	// Confirmations in which everything is known.
	"Deleted", "PlanDeleted", "WebhookDeleted",
	// Written as it is to an io.Writer.
	"CustomerExport",
	// Of which client.Ready has the problems.
	"Ready",
	// Read by newError; and a list of values.
	"OAuthError", "VerdictCode",
}

// TestEveryMemberHasAField compares the schemas of responses with the structs:
// members, and their JSON types. A member with one possible value needs no
// field.
func TestEveryMemberHasAField(t *testing.T) {
	d, _ := describe(t)
	for name, s := range d.Components.Schemas {
		typ := results[name]
		if typ == nil {
			if !slices.Contains(noResult, name) {
				t.Errorf("the schema %s has no type", name)
			}
			continue
		}
		fields := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(typ) {
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" && tag != "-" {
				fields[tag] = f.Type
			}
		}
		for member, schema := range s.Properties {
			field := fields[member]
			delete(fields, member)
			if field == nil {
				if schema.Const == nil {
					t.Errorf("%s has no field for the member %s of %s", typ, member, name)
				}
				continue
			}
			if strings.HasPrefix(typ.Name(), "Page[") && member == "next_cursor" {
				schema.Type = "string" // null clears it: see api.Page.UnmarshalJSON
			}
			if schema.Const == nil && !d.fits(schema, field) {
				t.Errorf("%s: the member %s has the type %v, and the field %s", typ, member, schema.Type, field)
			}
		}
		if len(fields) > 0 {
			t.Errorf("%s has the fields %v, which %s has not", typ, slices.Sorted(maps.Keys(fields)), name)
		}
	}
}

// fits reports whether a field can hold the values of a schema.
func (d description) fits(s apiSchema, field reflect.Type) bool {
	if field == reflect.TypeFor[json.RawMessage]() {
		return true
	}
	if len(s.OneOf) > 0 {
		return field.Kind() == reflect.Pointer && d.fits(s.OneOf[0], field.Elem())
	}
	if s.Ref != "" && results[refName(s.Ref)] != nil {
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		return field == results[refName(s.Ref)]
	}
	s = d.resolve(s)
	types, nullable := []any{s.Type}, false
	if list, ok := s.Type.([]any); ok {
		types = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == "null" })
		nullable = len(types) < len(list)
	}
	if strings.HasPrefix(field.Name(), "Change[") {
		value, _ := field.FieldByName("Value")
		field = value.Type
	} else if field.Kind() == reflect.Pointer {
		field = field.Elem()
	} else if nullable && field.Kind() != reflect.Slice && field.Kind() != reflect.Map {
		return false
	}
	switch types[0] {
	case "string":
		return field.Kind() == reflect.String || field == reflect.TypeFor[time.Time]() || field == reflect.TypeFor[api.Duration]()
	case "integer":
		return field.Kind() == reflect.Int64 || field.Kind() == reflect.Int
	case "boolean":
		return field.Kind() == reflect.Bool
	case "array":
		return field.Kind() == reflect.Slice && d.fits(*s.Items, field.Elem())
	case "object":
		return field.Kind() == reflect.Map
	case nil:
		return field.Kind() == reflect.Interface
	}
	return false
}

// TestEveryValueHasAConstant finds the values of each enum of a response or a
// request among the constants.
func TestEveryValueHasAConstant(t *testing.T) {
	is := is.New(t)
	constants := map[string]bool{}
	files, err := filepath.Glob("../api/*.go")
	is.NoErr(err)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		is.NoErr(err)
		ast.Inspect(f, func(n ast.Node) bool {
			if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.CONST {
				for _, spec := range decl.Specs {
					for _, v := range spec.(*ast.ValueSpec).Values {
						if lit, ok := v.(*ast.BasicLit); ok {
							constants[strings.Trim(lit.Value, `"`)] = true
						}
					}
				}
			}
			return true
		})
	}
	// Types of their own would say nothing more: the comment of the field has
	// the values.
	plain := []string{"Health.status", "RowResult.result", "Row.state"}
	d, _ := describe(t)
	for name, s := range d.Components.Schemas {
		s.Properties = maps.Clone(s.Properties)
		if s.Properties == nil {
			s.Properties = map[string]apiSchema{}
		}
		s.Properties[""] = apiSchema{Enum: s.Enum}
		for member, schema := range s.Properties {
			for _, v := range schema.Enum {
				if !slices.Contains(plain, name+"."+member) && !constants[fmt.Sprint(v)] {
					t.Errorf("%s.%s: the value %v has no constant", name, member, v)
				}
			}
		}
	}
}
