package compare

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// Locks and notes that only the description of a field has: "Immutable. The region of the bucket." (described.go)

// configConnector is the operator whose descriptions are locks: its CRDs are made from what its webhook compares.
const (
	configConnector       = "Config Connector"
	configConnectorGroup  = ".cnrm.cloud.google.com"
	configConnectorSource = "compareAndFindChangesOnImmutableFields (pkg/webhook/immutable_fields_validator.go) in " +
		"github.com/GoogleCloudPlatform/k8s-config-connector 1.155.1; its code was read, not run"
)

// describedChanges adds the sentences in the CRD's descriptions about the fields that change. In CRDs of Config
// Connector that are made from Terraform's or Google's own schemas, "Immutable." is a lock that its webhook enforces,
// except in lists of objects. Elsewhere it is a note, unless something else refuses the change of the field.
func (d *customKind) describedChanges(v *verdict, p request, operators bool) {
	version := d.version(p.new.APIVersion)
	if p.new.APIVersion != p.old.APIVersion || version == nil {
		return
	}
	root := d.versions[version].descriptions()
	if root == nil {
		return
	}
	newObj, err := d.prepare(version, p.new)
	if err != nil {
		return // the error is reported elsewhere
	}
	oldObj, err := d.prepare(version, p.old)
	if err != nil {
		return
	}
	enforced := operators && d.ofConfigConnector()
	is, has := newObj["spec"]
	was, had := oldObj["spec"]
	root.properties["spec"].changed(value{Data: is, OK: has}, value{Data: was, OK: had}, fieldpath.Path{"spec"},
		func(at fieldpath.Path, says *described, newVal, oldVal value) {
			path := at.String()
			inList := slices.ContainsFunc(at, func(s any) bool { _, isIndex := s.(int); return isIndex })
			switch {
			case slices.ContainsFunc(v.Violations, func(b result.Violation) bool { return related(b.Path, path) }):
			case !enforced || inList || !strings.HasPrefix(says.sentence, "Immutable."):
				v.Notes = append(v.Notes, result.Remark{Path: path,
					Message: "the CRD's description says: " + says.sentence})
			case !oldVal.OK:
				v.Unknown = append(v.Unknown, result.Remark{Path: path,
					Message: configConnector + ": refused unless the operator has filled in this very value, as the " +
						"field is immutable" + p.askCluster()})
			default:
				v.Violations = append(v.Violations, d.configConnectorViolation(version, at, newVal, oldVal))
			}
		})
	if v.replacement == nil && len(v.Violations) > 0 {
		v.replacement = d.replacement(p)
	}
}

// configConnectorViolation returns what Config Connector's webhook refuses.
func (d *customKind) configConnectorViolation(version *crd.Version, at fieldpath.Path, newVal,
	oldVal value) result.Violation {
	path := at.String()
	v := result.Violation{
		Path: path, Steps: at, Lock: string(immutability.LockImmutable), Old: oldVal, New: newVal,
		Message:    "cannot make changes to immutable field(s): [" + path + "]",
		EnforcedBy: configConnector, Source: configConnectorSource, Change: kind.Digest(oldVal, newVal),
	}
	if d.versions[version].RedactionAt(at) != nil {
		v.Old, v.New, v.Redacted = value{}, value{}, true
	}
	return v
}

// ofConfigConnector reports whether the CRD is made from a schema that Config Connector's webhook compares objects by.
// Its newer kinds have other controllers, which the webhook lets pass.
func (d *customKind) ofConfigConnector() bool {
	labels := fieldpath.Object(d.crd.Document.Object, "metadata", "labels")
	made := labels["cnrm.cloud.google.com/tf2crd"] == "true" || labels["cnrm.cloud.google.com/dcl2crd"] == "true"
	return made && strings.HasSuffix(d.crd.Group, configConnectorGroup)
}
