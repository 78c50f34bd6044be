package crd_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// The largest of the real CRDs, 2.8 MB, and objects as `check` reads them.
func BenchmarkLargeCRD(b *testing.B) {
	realcrds.Files(b)
	data := readFile(b, "../../../shared/crds/argo-workflows/workflows.argoproj.io.yaml")
	crds, err := crd.Read("f", data)
	if err != nil {
		b.Fatal(err)
	}
	var objects bytes.Buffer
	for i := range 500 {
		fmt.Fprintf(&objects, "---\napiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w%d, namespace: default}\nspec:\n  entrypoint: main\n  templates:\n", i)
		for j := range 10 {
			fmt.Fprintf(&objects, "  - name: t%d\n    container: {image: \"busybox:%d\", command: [sh, -c], args: [echo hello]}\n    unknown: field\n", j, i)
		}
	}
	documents, err := yamldoc.Read("objects", objects.Bytes())
	if err != nil {
		b.Fatal(err)
	}
	version := crds[0].Versions[0]
	preparer := prepare.New(version)

	b.Run("step=read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := crd.Read("f", data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("step=compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := version.Compile(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("step=lint", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			crd.Lint(crds[0], nil)
		}
	})
	b.Run("step=first-prepare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			fresh, err := crd.Read("f", data)
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if _, err := prepare.New(fresh[0].Versions[0]).Prepare(documents[0].Object); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("step=read-objects/n=500", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := yamldoc.Read("objects", objects.Bytes()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("step=prepare-objects/n=500", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, d := range documents {
				if _, err := preparer.Prepare(d.Object); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
