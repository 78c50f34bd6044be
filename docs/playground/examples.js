// The examples of the playground: Kubernetes' own kinds first, as that is where people meet "field is immutable".

export const examples = [
  {
    name: 'A StatefulSet’s volumes and serviceName',
    schema: '',
    old: `apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: orders
  namespace: shop
spec:
  serviceName: orders
  replicas: 3
  selector:
    matchLabels: {app: orders}
  template:
    metadata:
      labels: {app: orders}
    spec:
      containers:
      - name: db
        image: postgres:17
  volumeClaimTemplates:
  - metadata:
      name: data
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests:
          storage: 10Gi
`,
    new: `apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: orders
  namespace: shop
spec:
  serviceName: orders-headless
  replicas: 5
  selector:
    matchLabels: {app: orders}
  template:
    metadata:
      labels: {app: orders}
    spec:
      containers:
      - name: db
        image: postgres:18
  volumeClaimTemplates:
  - metadata:
      name: data
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests:
          storage: 20Gi
`,
  },
  {
    name: 'A Deployment’s selector',
    schema: '',
    old: `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx:1.29
`,
    new: `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web, app.kubernetes.io/name: web}
  template:
    metadata:
      labels: {app: web, app.kubernetes.io/name: web}
    spec:
      containers:
      - name: web
        image: nginx:1.30
`,
  },
  {
    name: 'A CRD with locks',
    schema: `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: buckets.storage.example.com
spec:
  group: storage.example.com
  scope: Namespaced
  names: {kind: Bucket, plural: buckets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [region]
            properties:
              region:
                type: string
                x-kubernetes-immutable: true
              encryption:
                type: object
                properties:
                  key:
                    type: string
                    x-kubernetes-immutable: true
              tags:
                type: object
                additionalProperties: {type: string}
                x-kubernetes-addition-only: true
`,
    old: `apiVersion: storage.example.com/v1
kind: Bucket
metadata:
  name: invoices
spec:
  region: eu-central-1
  encryption:
    key: k1
  tags:
    team: billing
`,
    new: `apiVersion: storage.example.com/v1
kind: Bucket
metadata:
  name: invoices
spec:
  region: eu-west-1
  encryption:
    key: k2
  tags:
    owner: billing
`,
  },
  {
    name: 'A CRD with a CEL rule that can be got around',
    schema: `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: caches.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Cache, plural: caches}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              engine:
                type: string
                x-kubernetes-validations:
                - rule: self == oldSelf
                  message: engine is immutable
`,
    old: `apiVersion: example.com/v1
kind: Cache
metadata:
  name: sessions
spec:
  engine: valkey
`,
    new: `apiVersion: example.com/v1
kind: Cache
metadata:
  name: sessions
spec:
  engine: memcached
`,
  },
];
