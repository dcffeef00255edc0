package main

import (
	"bytes"
	"os"
	"testing"
)

// TestGenerated fails if openapi.json was changed without running go generate.
func TestGenerated(t *testing.T) {
	document, err := os.ReadFile("../../../endpoints/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := generate(document)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../templates/reference.html")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("templates/reference.html is not up to date: run go generate in licensing/internal/http/dashboard")
	}
}
