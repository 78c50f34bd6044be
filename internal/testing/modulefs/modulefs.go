// Package modulefs opens the files of Go modules of other projects, which tests and measurements read as real input.
package modulefs

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// FS is the files of one module. Close it when they are read.
type FS struct {
	fs.FS
	archive *zip.ReadCloser
}

// Open returns the files of a module, such as "sigs.k8s.io/gateway-api@v1.7.0", from the module cache, into which it is
// downloaded when it is not there. It reads the module's archive, as the go command unpacks none that asks for a newer
// Go.
func Open(module string) (*FS, error) {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir()           // outside of any module
	out, downloadErr := cmd.Output() // a module that asks for a newer Go is an error, and yet downloaded
	var got struct{ Zip, Error string }
	if err := json.Unmarshal(out, &got); err != nil || got.Zip == "" {
		return nil, fmt.Errorf("go mod download %s gave no archive: %s (%v)", module, got.Error, downloadErr)
	}
	archive, err := zip.OpenReader(got.Zip)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(archive, module)
	if err != nil {
		archive.Close()
		return nil, err
	}
	return &FS{files, archive}, nil
}

// Close ends the reading.
func (f *FS) Close() error { return f.archive.Close() }
