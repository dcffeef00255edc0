package e2e

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestThirdParty builds and tests the program under testdata/thirdparty: a
// separate module with its own backend, which imports only exported packages.
func TestThirdParty(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = "testdata/thirdparty"
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
}
