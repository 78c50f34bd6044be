// Searches as people type them: the words, the pages of which one has to be first, and what the reader then finds on it.

export const searches = [
  // Messages of API servers.
  ['field is immutable', 'troubleshooting', 'The field cannot change after creation.'],
  ['spec.selector: Invalid value: field is immutable', 'troubleshooting kustomize fields/deployment fields/job', 'spec.selector'],
  ['updates to statefulset spec for fields other than', 'troubleshooting fields/statefulset', 'larger-volumes-of-a-statefulset'],
  ['pod updates may not change fields other than', 'troubleshooting fields/pod', 'pod updates may not change fields'],
  ['spec is immutable after creation except resources.requests', 'troubleshooting fields/persistentvolumeclaim', 'spec is immutable after creation'],
  ['cannot change roleRef', 'troubleshooting fields/rolebinding fields/clusterrolebinding', 'cannot change roleRef'],
  ['updates to parameters are forbidden', 'troubleshooting fields/storageclass', 'updates to parameters are forbidden'],
  ['spec.clusterIP: Invalid value', 'fields/service', 'spec.clusterIP'],
  ['may not be specified when strategy type is Recreate', 'troubleshooting fields/deployment', 'rollingUpdate'],
  ['field is immutable when immutable is set', 'troubleshooting fields/configmap fields/secret', 'immutable'],
  ['admission webhook denied the request', 'operators troubleshooting', 'denied the request'],
  // Messages of tools.
  ['UPGRADE FAILED: cannot patch', 'helm troubleshooting', 'kubectl delete statefulset orders --cascade=orphan'],
  ['one or more objects failed to apply', 'argo-cd troubleshooting', 'Force=true,Replace=true'],
  ['dry-run failed Invalid', 'flux troubleshooting', 'kustomize.toolkit.fluxcd.io/force: enabled'],
  // Tasks.
  ['statefulset field is immutable', 'fields/statefulset', '`spec.serviceName` | cannot be set, changed or removed'],
  ['deployment selector', 'fields/deployment', 'replace it (all pods stop'],
  ['statefulset volumeClaimTemplates', 'fields/statefulset recipes', 'olume'],
  ['pvc storageClassName immutable', 'fields/persistentvolumeclaim', '`spec.storageClassName` | can be set once'],
  ['job template immutable', 'fields/job', '`spec.template`'],
  ['resize volume statefulset', 'recipes', '--cascade=orphan'],
  ['argocd', 'argo-cd', 'revert the commit'],
  ['commonLabels', 'kustomize', 'includeTemplates: true'],
  ['helm upgrade immutable', 'helm', '--cascade=orphan'],
  ['github action', 'ci', 'uses: fieldlock/fieldlock'],
  ['gitlab', 'ci', 'uses: fieldlock/fieldlock'],
  ['kubectl diff dry-run', 'deploy', 'what it does better'],
  ['accept a violation .fieldlock.yaml', 'settings ci deploy', 'accept'],
  ['exit code', 'commands troubleshooting ci', 'xit status'],
  // APIs.
  ['kubebuilder immutable marker', 'crds', '// +immutable'],
  ['x-kubernetes-immutable', 'annotations crds', 'x-kubernetes-immutable'],
  ['self == oldSelf optional field', 'cel crds', 'has(self.f) == has(oldSelf.f)'],
  ['controller-runtime webhook', 'servers', 'controllerruntime.NewValidator(locks'],
  ['aggregated api server', 'servers', 'apiserver.NewUpdateStrategy'],
  ['kudo params.yaml immutable', 'parameters', 'immutable: true'],
  ['enablingParameter', 'parameters', 'enablingParameter: MONITORING'],
];
