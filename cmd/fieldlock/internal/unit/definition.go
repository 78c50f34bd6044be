package unit

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// A unit that an object defines is rendered from a specification: the object, the objects that it refers to, and what
// is known of its sources. It is the text of a worker's job, so units with equal specifications and files print the
// same.
//
//	kind: HelmRelease, chartRef: {kind: HelmChart, name: shop}    Object
//	the HelmChart shop of another file                            Chart
//	the ConfigMap that valuesFrom names                           Referenced

// definedSpec is how a unit is rendered that an object defines.
type definedSpec struct {
	Object map[string]any
	// InTree tells of each source whether it is the tree.
	InTree []bool
	// Paths are those of the sources in an ApplicationSet's templates, without those of other repositories.
	Paths []string
	// Referenced are the ConfigMaps and Secrets that the object refers to, as far as the tree has them.
	Referenced []map[string]any
	Ignore     string         // of the source
	Included   []string       // GitRepositories that the source includes
	Part       *flux.Part     // of the ExternalArtifact that a Kustomization has as its source
	Chart      map[string]any // the HelmChart of a HelmRelease that refers to one
	// Sources tell what decides about a source that is not in the tree.
	Sources []map[string]any
	// Fetched has, for each source that is a chart of a repository, the directory to which it is fetched, otherwise "".
	Fetched []string
	Cluster rendered.Cluster
	Upgrade bool // of a HelmRelease
}

// undecided are the fields of definitions that decide when a unit is applied and what is done about failures, not what
// it applies.
var undecided = [...]string{
	"interval", "timeout", "retryInterval", "dependsOn", "wait", "healthChecks", "healthCheckExprs", "maxHistory",
	"test", "rollback",
	"driftDetection", "revisionHistoryLimit", "info", "uninstall",
}

// undecidedIn are such fields within others: of an Application, and of the actions of a HelmRelease.
var undecidedIn = map[string][]string{
	"syncPolicy": {"automated", "retry", "managedNamespaceMetadata"},
	"install":    undecidedActions,
	"upgrade":    undecidedActions,
}

var undecidedActions = []string{
	"timeout", "remediation", "strategy", "disableWait", "disableWaitForJobs", "cleanupOnFail", "createNamespace",
}

// undecidedOption matches the options of an Application that change neither what it applies nor how.
var undecidedOption = regexp.MustCompile(`^(?:CreateNamespace|PruneLast|PrunePropagationPolicy|ApplyOutOfSyncOnly|FailOnSharedResource|SkipDryRunOnMissingResource)=`)

// deciding returns the specification without what does not decide about the objects of the unit, such as the version of
// its API.
func (s definedSpec) deciding() []byte {
	spec, _ := s.Object["spec"].(map[string]any)
	spec = maps.Clone(spec)
	for _, field := range undecided {
		delete(spec, field)
	}
	for field, undecided := range undecidedIn {
		in, ok := spec[field].(map[string]any)
		if !ok {
			continue
		}
		if in = decidingIn(in, undecided); len(in) == 0 {
			delete(spec, field)
		} else {
			spec[field] = in
		}
	}
	s.Object = map[string]any{"kind": s.Object["kind"], "name": nameOf(s.Object), "spec": spec}
	return encode(s)
}

// decidingIn returns a field of a definition without some of its fields.
func decidingIn(field map[string]any, undecided []string) map[string]any {
	field = maps.Clone(field)
	maps.DeleteFunc(field, func(_ string, value any) bool { return value == nil })
	for _, name := range undecided {
		delete(field, name)
	}
	if options, ok := field["syncOptions"].([]any); ok {
		options = slices.DeleteFunc(slices.Clone(options), func(option any) bool {
			text, _ := option.(string)
			return undecidedOption.MatchString(text)
		})
		if field["syncOptions"] = options; len(options) == 0 {
			delete(field, "syncOptions")
		}
	}
	return field
}

// referenced returns the objects of a reference by kind, namespace and name. A namespace that an object does not give
// is any.
func (s *definedSpec) referenced(kind, namespace, name string) (map[string]any, bool) {
	for _, o := range s.Referenced {
		in := fieldpath.Text(o, "metadata", "namespace")
		if o["kind"] == kind && fieldpath.Value(o, "metadata", "name") == name && (in == "" || in == namespace) {
			return o, true
		}
	}
	return nil, false
}

// deciding returns the fields that decide about the content of a source, not how often it is read.
func deciding(spec map[string]any) map[string]any {
	decides := map[string]any{}
	for _, field := range [...]string{
		"url", "ref", "chart", "version", "sourceRef", "valuesFile", "valuesFiles", "layerSelector", "include",
		"ignore", "endpoint", "bucketName", "prefix",
		"sources", "copy",
	} {
		if value, ok := spec[field]; ok {
			decides[field] = value
		}
	}
	return decides
}

// encode returns the specification of a job.
func encode(spec any) []byte {
	data, err := json.Marshal(spec)
	if err != nil {
		panic(err) // it is made of strings
	}
	return data
}

// decode returns the specification of a job that encode has made.
func decode[T any](data []byte) T {
	var spec T
	if err := json.Unmarshal(data, &spec); err != nil {
		panic(err)
	}
	return spec
}
