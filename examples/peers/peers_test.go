package main

import (
	"regexp"
	"strings"
	"testing"
)

// BenchmarkPeers has each subject of the tables, for benchstat: group=unchanged-object/subject=by-hand. Subjects of a
// group that several rows compare are measured once.
func BenchmarkPeers(b *testing.B) {
	for _, of := range questions {
		groups, err := of()
		if err != nil {
			b.Fatal(err)
		}
		for _, g := range groups {
			seen := map[string]bool{}
			for i := range g.rows {
				for _, s := range []*subject{g.rows[i].part, g.rows[i].peer} {
					if s == nil || seen[s.name] {
						continue
					}
					seen[s.name] = true
					b.Run("group="+inName(g.title)+"/subject="+inName(s.name), func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							s.do()
						}
						if s.each > 1 {
							b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*s.each), "ns/update")
						}
					})
				}
			}
		}
	}
}

// notInNames matches what cannot be in a part of a benchmark's name.
var notInNames = regexp.MustCompile(`[^\pL\pN.]+`)

func inName(title string) string { return strings.Trim(notInNames.ReplaceAllString(title, "-"), "-") }
