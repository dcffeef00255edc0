package feed

import (
	"testing"

	"github.com/matryer/is"
)

func TestTypesOfEvents(t *testing.T) {
	is := is.New(t)
	is.True(MatchTypes(nil, "license.created"))
	is.True(MatchTypes([]string{"license.*"}, "license.created"))
	is.True(!MatchTypes([]string{"license.*"}, "licenses.created"))
	is.True(!MatchTypes([]string{"*"}, "license.created"))
	is.True(!MatchTypes([]string{"lic*"}, "license.created"))
	is.True(!MatchTypes([]string{"client.*", "license.updated"}, "license.created"))
	is.True(IsPattern("operator.*", []string{"license.created", "operator.created"}))
	is.True(!IsPattern("", []string{"license.created"}))
}
