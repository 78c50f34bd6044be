package argo

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// An Application can tell Argo CD to leave fields as they are in the cluster (ignoreDifferences). With the sync option
// RespectIgnoreDifferences=true, a sync sends what the cluster has there, whatever the manifest says; without it, they
// only count as in sync. For example, these entries leave the replicas of all Deployments, and the certificates of all
// webhooks:
//
//	ignoreDifferences:
//	- {group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}
//	- {group: "*", kind: "*Configuration", jqPathExpressions: ['.webhooks[]?.clientConfig.caBundle']}
//
// The rules are those of normalizeTargetResources (controller/sync.go) and of util/argo/normalizers/diff_normalizer.go.

// Ignored returns the fields of an object that a sync leaves as they are, each as the steps that lead to it, and as
// unknown the places, as JSON pointers, below which some may be: items of lists, and what other programs have set.
func (a *Application) Ignored(group, kind, namespace, name string) (fields [][]string, unknown []string) {
	if !slices.Contains(a.SyncOptions, "RespectIgnoreDifferences=true") {
		return nil, nil
	}
	of := strings.TrimSuffix(kind+"."+group, ".")
	for _, entry := range a.ignores {
		pattern, err := compile(strings.TrimSuffix(entry.Kind+"."+entry.Group, "."))
		others := entry.Name != "" && entry.Name != name || entry.Namespace != "" && entry.Namespace != namespace
		if err != nil || pattern == nil || others || !pattern.Match(of) {
			continue
		}
		for _, p := range entry.JSONPointers {
			steps := pointer.Names(p)
			if i := slices.IndexFunc(steps, isIndex); i >= 0 {
				unknown = append(unknown, pointerTo(steps[:i]))
				continue
			}
			fields = append(fields, steps)
		}
		for _, expression := range entry.JQPathExpressions {
			steps, whole := jqSteps(expression)
			if whole {
				fields = append(fields, steps)
			} else {
				unknown = append(unknown, pointerTo(steps))
			}
		}
		if len(entry.ManagedFieldsManagers) > 0 {
			unknown = append(unknown, "")
		}
	}
	return fields, unknown
}

// isIndex reports whether a step can lead to an item of a list.
func isIndex(step string) bool { return step != "" && strings.Trim(step, "0123456789") == "" }

func pointerTo(steps []string) string {
	text := ""
	for _, step := range steps {
		text += "/" + pointer.Escape(step)
	}
	return text
}

// jqStep is one step of a path in jq that leads to a member: .name, ."name" or ["name"].
var jqStep = regexp.MustCompile(`^(?:\.([A-Za-z_]\w*)|\."([^"\\]*)"|\.?\["([^"\\]*)"\])`)

// jqSteps returns the steps that an expression of jq begins with, and whether they are all of it. What goes on with the
// items of a list can only be below them; of any other expression, nothing is known.
func jqSteps(expression string) (steps []string, whole bool) {
	rest := strings.TrimSpace(expression)
	for {
		m := jqStep.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		steps, rest = append(steps, m[1]+m[2]+m[3]), rest[len(m[0]):]
	}
	switch {
	case rest == "" && len(steps) > 0:
		return steps, true
	case strings.HasPrefix(rest, "[") && !strings.ContainsAny(rest, ",;"):
		return steps, false
	}
	return nil, false
}
