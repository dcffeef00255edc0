package host

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestListenOnTheNetwork: an address that others reach needs -lan, and gets a warning.
func TestListenOnTheNetwork(t *testing.T) {
	is := is.New(t)
	var out strings.Builder
	const others = "192.0.2.1:0" // of no machine, so that nothing listens there
	_, err := listen(others, false, &out)
	is.True(err != nil)
	require.Contains(t, err.Error(), "-lan")
	is.Equal(out.String(), "")
	_, err = listen(others, true, &out)
	is.True(err != nil)
	require.NotContains(t, err.Error(), "-lan")
	require.Contains(t, out.String(), "Warning")

	out.Reset()
	ln, err := listen("127.0.0.1:0", true, &out)
	is.NoErr(err)
	is.NoErr(ln.Close())
	is.Equal(out.String(), "")
}
