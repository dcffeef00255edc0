package web

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/ijson"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// parseObject reads a body that is one JSON object, as package ijson does.
func parseObject(data []byte) (*Object, error) {
	v, err := ijson.Parse(data)
	if err != nil {
		return nil, &Problem{Status: http.StatusBadRequest, Code: "invalid_json", Detail: "The body " + err.Error() + "."}
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, license.Invalid("", codeInvalidType, "must be a JSON object")
	}
	return &Object{members: members}, nil
}
