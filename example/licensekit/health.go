package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
)

// askHealth asks the service on this machine whether it is ready, for the health check of a
// container or a unit. It returns an error if it is not.
func askHealth(ctx context.Context, args []string) error {
	set := settings.New(name+" health FLAGS", os.Stdout)
	set.AddConfig()
	set.String("addr", "", "the host:port that the service listens on; default: 127.0.0.1:8181")
	set.String("tls-cert", "", "the file with the certificate of the service, if it speaks HTTPS")
	if err := set.ParseFlags(args); err != nil {
		return err
	}
	c := set.Config()
	rejectAddr(set, "Addr", c.Addr)
	if err := set.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.LocalURL()+"/ready", nil)
	if err != nil {
		return err
	}
	// The certificate is for the name of the service, and not for the address of this machine.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the service is not ready: %s", resp.Status)
	}
	return nil
}
