package admission

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/ownership"
	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

// refusal returns the status of a refusal, with the owners of the fields where the stored object knows them.
func refusal(r *admissionv1.AdmissionRequest, target *Target, report immutability.Report, code immutability.StatusCode) *metav1.Status {
	status := report.Status(target.kind.GroupKind(), r.Name, code)
	if len(target.replicas) == 0 {
		nameOwners(status, report, r)
	}
	for i := range status.Details.Causes {
		status.Details.Causes[i].Message = clip(status.Details.Causes[i].Message, maxCause)
	}
	status.Message = clip(status.Message, maxMessage)
	return status
}

// maxOwned is how many violations owners are looked up for.
const maxOwned = 100

// nameOwners adds the owners of the fields to the causes of a refusal. The update is refused whatever happens here: a
// panic while reading managed fields must not turn it into an update that cannot be checked.
func nameOwners(status *metav1.Status, report immutability.Report, r *admissionv1.AdmissionRequest) {
	defer func() { _ = recover() }()
	managers := managersOf(r)
	if managers == nil {
		return
	}
	var named []string
	for i := range min(len(report.Violations), len(status.Details.Causes), maxOwned) {
		v := &report.Violations[i]
		var owners []ownership.Owner
		if v.HasKey {
			owners = managers.OwnersOfKeyJSON(v.Path, v.Key, r.Object.Raw)
		} else {
			owners = managers.OwnersJSON(v.Path, r.Object.Raw)
		}
		text := ownership.Text(owners)
		if text == "" {
			continue
		}
		cause := &status.Details.Causes[i]
		cause.Message = clip(cause.Message, maxCause-len(text)-2) + "; " + text
		named = append(named, v.Path.String()+": "+text)
	}
	if len(named) > 0 {
		text := strings.Join(named[:min(len(named), 3)], "; ")
		status.Message = clip(status.Message, maxMessage-len(text)-3) + " (" + text + ")"
	}
}

// managersOf reads the managers of the stored object; nil where it names none, or they cannot be read.
func managersOf(r *admissionv1.AdmissionRequest) *ownership.Managers {
	fields := memberOf(memberOf(r.OldObject.Raw, "metadata"), "managedFields")
	if len(fields) == 0 {
		return nil
	}
	managers, _ := ownership.ReadManagedFields(fields, kindOf(r).GroupVersion().String())
	return managers
}

// memberOf returns the value of the first member of an object with that name, nil where it has none.
func memberOf(object []byte, name string) []byte {
	t := jsonscan.NewText(object)
	for m := range t.Members() {
		if string(m.Name) == name {
			return t.Skip()
		}
	}
	return nil
}

// maxLogged is how many violations a log line or audit note names.
const maxLogged = 20

// brokenLocks names what an update breaks, without values: "spec.class (immutable)".
func brokenLocks(report immutability.Report) []string {
	n := len(report.Violations) + report.More
	list := make([]string, 0, min(n, maxLogged+1))
	for i := range report.Violations {
		if i == maxLogged {
			break
		}
		v := &report.Violations[i]
		list = append(list, fmt.Sprintf("%s (%s)", v.Path, v.Lock))
	}
	if n > len(list) {
		list = append(list, fmt.Sprintf("and %d more", n-len(list)))
	}
	return list
}
