package main

import (
	"fmt"
	"strings"
)

// This chapter says in words what the data says in CEL. The rules and conditions of built-in kinds all have a sentence, and a
// test fails without one; those of operators are numbered on the page instead:
//
//	{field: data, lock: immutable, when: oldSelf.immutable}
//	data | cannot be set, changed or removed if `immutable` is true

// lockWords says what each lock of a kind means.
var lockWords = map[string]string{
	"immutable":        "cannot be set, changed or removed",
	"NoModify":         "cannot be changed once set",
	"NoSet":            "cannot be set later",
	"NoUnset":          "cannot be removed",
	"NoSet,NoUnset":    "can be neither added nor removed",
	"NoSet,NoModify":   "cannot be set later or changed, but can be removed",
	"NoUnset,NoModify": "can be set once, then neither changed nor removed",
	"addition-only":    "keys can be added but not removed",
	"deletion-only":    "keys can be removed but not added",
}

// conditionWords returns a condition in words, such as "if the object is named `x`", and false if we have no words for it.
func conditionWords(when string) (words string, ok bool) {
	if names, ok := strings.CutPrefix(when, "self.metadata.name in ['"); ok {
		return fmt.Sprintf("if the object is named `%s`", strings.ReplaceAll(strings.TrimSuffix(names, "']"), "', '", "` or `")), true
	}
	words, ok = conditions[oneLine(when)]
	return words, ok
}

const (
	sameContainers = "self.spec.?containers.orValue([]).size() == oldSelf.spec.?containers.orValue([]).size() && " +
		"self.spec.?initContainers.orValue([]).size() == oldSelf.spec.?initContainers.orValue([]).size()"
	held           = "has(oldSelf.spec.schedulingGates) && size(oldSelf.spec.schedulingGates) > 0"
	noExternalName = "self.spec.type != 'ExternalName' && oldSelf.spec.type != 'ExternalName'"
	loadBalancer   = "self.spec.type == 'LoadBalancer' && oldSelf.spec.type == 'LoadBalancer'"
	headless       = "has(oldSelf.spec.clusterIP) && oldSelf.spec.clusterIP == 'None'"
	stillLocal     = "has(self.spec.externalTrafficPolicy) && self.spec.externalTrafficPolicy == 'Local' && " +
		"has(oldSelf.spec.externalTrafficPolicy) && oldSelf.spec.externalTrafficPolicy == 'Local'"
)

// conditions are the conditions of built-in kinds.
var conditions = map[string]string{
	"!oldSelf.spec.suspend":                    "if the Job is not suspended",
	"oldSelf.spec.suspend":                     "if the Job is suspended",
	"self.spec.completionMode != 'Indexed'":    "if the completion mode is not `Indexed`",
	"oldSelf.immutable":                        "if `immutable` is true",
	noExternalName:                             "unless the old or the new type is `ExternalName`",
	noExternalName + " && !(" + headless + ")": "unless the Service is headless, or the old or the new type is `ExternalName`",
	loadBalancer:                               "while the type stays `LoadBalancer`",
	loadBalancer + " && " + stillLocal:         "while the type stays `LoadBalancer` and the external traffic policy stays `Local`",
	sameContainers + " && !(" + held + ")":     "if the Pod has no scheduling gates",
	sameContainers + " && " + held:             "if the Pod has scheduling gates",
	held:                                       "if the Pod has scheduling gates",
}

// ruleWords are the rules of built-in kinds.
var ruleWords = map[string]string{
	"!(self.spec.strategy.type == 'Recreate' && has(self.spec.strategy.rollingUpdate))":             "cannot be set if the type is `Recreate`",
	"!(self.spec.updateStrategy.type == 'OnDelete' && has(self.spec.updateStrategy.rollingUpdate))": "cannot be set if the type is `OnDelete`",
	"!oldSelf.immutable || self.immutable":                                                          "cannot be unset once it is true",
	"self.spec.completionMode != 'Indexed' || !has(self.spec.completions) || has(oldSelf.spec.completions) && " +
		"self.spec.completions == oldSelf.spec.completions || has(self.spec.parallelism) && self.spec.completions " +
		"== self.spec.parallelism": "of an Indexed Job, can change only to the number in `spec.parallelism`",
	"self.spec.completionMode != 'Indexed' || has(self.spec.completions) || !has(oldSelf.spec.completions)": "of an Indexed Job, cannot be removed",
	"!has(self.spec.clusterIP) || self.spec.clusterIP == (has(oldSelf.spec.clusterIP) ? oldSelf.spec.clusterIP " +
		": self.spec.clusterIP == 'None' ? 'an address' : self.spec.clusterIP)": "cannot change to another address, to `None` or from `None`",
	"!has(self.spec.clusterIPs) || !has(oldSelf.spec.clusterIPs) || size(self.spec.clusterIPs) == 0 || " +
		"size(oldSelf.spec.clusterIPs) == 0 || self.spec.clusterIPs[0] == oldSelf.spec.clusterIPs[0]": "the first address cannot change",
	"!has(self.spec.ipFamilies) || !has(oldSelf.spec.ipFamilies) || size(self.spec.ipFamilies) == 0 || " +
		"size(oldSelf.spec.ipFamilies) == 0 || self.spec.ipFamilies[0] == oldSelf.spec.ipFamilies[0]": "the first family cannot change",
	"!has(self.spec.healthCheckNodePort) || !has(oldSelf.spec.healthCheckNodePort) || " +
		"self.spec.healthCheckNodePort == oldSelf.spec.healthCheckNodePort": "cannot change to another port",
	"self.spec.type != 'NodePort' || oldSelf.spec.type == 'ExternalName' || !has(oldSelf.spec.clusterIP) || " +
		"oldSelf.spec.clusterIP != 'None'": "cannot change to `NodePort` if the Service is headless",
	"self.spec.type != 'LoadBalancer' || oldSelf.spec.type == 'ExternalName' || !has(oldSelf.spec.clusterIP) " +
		"|| oldSelf.spec.clusterIP != 'None'": "cannot change to `LoadBalancer` if the Service is headless",
	"self.spec.?cidrs.orValue([]) == oldSelf.spec.?cidrs.orValue([]) || size(oldSelf.spec.?cidrs.orValue([])) " +
		"== 1 && size(self.spec.?cidrs.orValue([])) == 2 && self.spec.cidrs[0] == oldSelf.spec.cidrs[0]": "cannot change, but a second range can be added to a single one",
	"self.spec.?containers.orValue([]).size() == oldSelf.spec.?containers.orValue([]).size()":         "containers can be neither added nor removed",
	"self.spec.?initContainers.orValue([]).size() == oldSelf.spec.?initContainers.orValue([]).size()": "containers can be neither added nor removed",
	"self.spec.terminationGracePeriodSeconds == oldSelf.spec.terminationGracePeriodSeconds || " +
		"oldSelf.spec.terminationGracePeriodSeconds < 0 && self.spec.terminationGracePeriodSeconds == 1": "cannot change, except from a negative number to 1",
	"!has(oldSelf.spec.activeDeadlineSeconds) || has(self.spec.activeDeadlineSeconds)": "cannot be removed",
	"!has(oldSelf.spec.activeDeadlineSeconds) || !has(self.spec.activeDeadlineSeconds) || " +
		"self.spec.activeDeadlineSeconds <= oldSelf.spec.activeDeadlineSeconds": "can be lowered but not raised",
	"!has(oldSelf.spec.tolerations) || oldSelf.spec.tolerations.all(o, has(self.spec.tolerations) && " +
		"self.spec.tolerations.exists(n, n == o))": "tolerations can be added, but neither changed nor removed",
	"!has(self.spec.schedulingGates) || self.spec.schedulingGates.all(n, has(oldSelf.spec.schedulingGates) && " +
		"oldSelf.spec.schedulingGates.exists(o, o.name == n.name))": "gates can be removed but not added",
	"has(oldSelf.spec.affinity) || !has(self.spec.affinity) || has(self.spec.affinity.nodeAffinity) || " +
		"has(self.spec.affinity.podAffinity) || has(self.spec.affinity.podAntiAffinity)": "an empty affinity cannot be added",
}

const ifWorkloads = "where the feature `WorkloadWithJob` is on; by default it is off, and the server drops the field"

// exceptions are what a row accepts nevertheless where a function decides, by kind and field.
var exceptions = map[string]string{
	"Job spec.scheduling.schedulingConstraints": ifWorkloads,
	"Job spec.scheduling.disruptionMode":        ifWorkloads,
	"Job spec.scheduling.resourceClaims":        ifWorkloads,
	"Node spec.podCIDRs":                        "but a list whose first range is not `spec.podCIDR` is ignored",
	"PersistentVolume spec.nodeAffinity":        "except that beta labels may be replaced with the stable ones",
	"PersistentVolumeClaim spec.dataSourceRef":  "except for a reference to another namespace, of which only the cluster can decide",
	"PersistentVolumeClaim metadata.annotations[volume.beta.kubernetes.io/storage-class]": "except that " +
		"it may be replaced with `spec.storageClassName`",
}

// judgedWith names the field whose rows judge another one too, by kind and field: the server copies its value there, or a
// rule reads both. The row on egress rules without effect names spec.policyTypes, which may change.
var judgedWith = map[string]string{
	"Job spec.parallelism":                "spec.completions",
	"NetworkPolicy spec.egress":           "spec.policyTypes",
	"NetworkPolicy spec.policyTypes":      "spec.egress",
	"Node spec.podCIDR":                   "spec.podCIDRs",
	"ReplicationController spec.selector": "spec.template.metadata.labels",
	"Secret stringData":                   "data",
}

// ignoredFields are those whose changes have no effect without a row that says so, by kind and field, with the reason.
var ignoredFields = map[string]string{
	"Pod spec.serviceAccount": "the server keeps `spec.serviceAccountName`, which it was copied to",
}
