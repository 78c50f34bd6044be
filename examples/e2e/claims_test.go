package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldlock/fieldlock/internal/testing/page"
)

// claim returns a claim of a class.
func claim(name, class, spec string) string {
	return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + ", namespace: claims}\n" +
		"spec: {storageClassName: " + class + ", resources: {requests: {storage: 1Gi}}, " + spec + "}\n---\n"
}

const once, many = "accessModes: [ReadWriteOnce]", "accessModes: [ReadWriteMany]"

// user returns a StatefulSet whose pod uses a claim.
func user(claim string) string {
	return "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: user-" + claim + ", namespace: claims}\nspec: {serviceName: user, replicas: 1, selector: {matchLabels: {user: " + claim + "}}, " +
		"template: {metadata: {labels: {user: " + claim + "}}, spec: {containers: [{name: a, image: a, volumeMounts: [{name: d, mountPath: /d}]}], " +
		"volumes: [{name: d, persistentVolumeClaim: {claimName: " + claim + "}}]}}}\n---\n"
}

// scaling are the actions for the steps that scale the pods of a claim.
func scaling(claim string) map[string]string {
	const scale = "kubectl scale statefulset user-"
	return map[string]string{
		"scale the pods that use": scale + claim + " --replicas=0", "scale the pods up": scale + claim + " --replicas=1",
	}
}

// TestClaims carries out what check prints for claims, volumes, StatefulSets and namespaces, and shows what goes wrong
// without a step. hack/appliers runs it.
func TestClaims(t *testing.T) {
	c := newControllers(t)
	run := func(name string, test func(c *controllers)) {
		t.Run(name, func(t *testing.T) {
			of := *c
			of.t = t
			test(&of)
		})
	}
	for _, class := range []string{"standard", "late"} {
		run("a claim keeps its volume, class "+class, func(c *controllers) {
			name := "kept-" + class
			c.apply(claim(name, class, once) + user(name))
			folder := c.write(name, "42")
			c.await("pod/user-"+name+"-0", ".status.phase", "Running")
			uid := c.get("pvc/"+name, ".metadata.uid")
			ways := c.waysOut("PersistentVolumeClaim", claim(name, class, once), claim(name, class, many))
			if out, err := c.carryOut(c.way(ways, "keep the volume"), scaling(name)); err != nil {
				c.t.Fatalf("%v\n%s", err, out)
			}
			if got := c.folder(name); got != folder || !has(got, "42") || uid == c.get("pvc/"+name, ".metadata.uid") {
				c.t.Errorf("the claim is bound to %s, and was to %s", got, folder)
			}
			if modes := c.get("pvc/"+name, ".spec.accessModes[0]"); modes != "ReadWriteMany" {
				c.t.Errorf("the new claim has %s", modes)
			}
			c.await("pod/user-"+name+"-0", ".status.phase", "Running")
		})
	}
	run("the deletion of a claim waits for its pods", func(c *controllers) {
		c.apply(claim("used", "standard", once) + user("used"))
		c.await("pod/user-used-0", ".status.phase", "Running")
		if out, err := c.shell("kubectl delete pvc/used --timeout=5s"); err == nil {
			c.t.Errorf("the claim is gone: %s", out)
		}
		c.must("kubectl scale statefulset user-used --replicas=0", "kubectl wait --for=delete pvc/used --timeout=60s")
	})
	run("the deletion of a volume waits for its claim", func(c *controllers) {
		c.apply(claim("bound", "standard", once))
		c.write("bound", "42")
		volume := c.get("pvc/bound", ".spec.volumeName")
		if out, err := c.shell("kubectl delete pv/" + volume + " --timeout=5s"); err == nil {
			c.t.Errorf("the volume is gone: %s", out)
		}
		c.must("kubectl delete pvc/bound", "kubectl wait --for=delete pv/"+volume+" --timeout=60s")
	})
	run("a claim that nobody reserved a volume for gets an empty one", func(c *controllers) {
		c.apply(claim("empty", "standard", once))
		folder := c.write("empty", "42")
		way := c.way(c.waysOut("PersistentVolumeClaim", claim("empty", "standard", once), claim("empty", "standard", many)), "keep the volume")
		var steps []string
		for _, step := range strings.Split(way, "\n") {
			if !strings.Contains(step, "reserve the volume") {
				steps = append(steps, step)
			}
		}
		if out, err := c.carryOut(strings.Join(steps, "\n"), map[string]string{"scale": "true"}); err != nil {
			c.t.Fatalf("%v\n%s", err, out)
		}
		if got := c.folder("empty"); got == folder || !has(folder, "42") {
			c.t.Errorf("the claim has the folder %s, and had %s", got, folder)
		}
		if out, err := c.shell(`kubectl patch pvc empty -p '{"spec":{"volumeName":"another"}}'`); err == nil {
			c.t.Errorf("it can be bound to another volume afterwards: %s", out)
		}
	})
	run("one line refuses two claims", func(c *controllers) {
		c.apply(claim("first", "standard", once) + user("first") + claim("second", "standard", once) + user("second"))
		folders := map[string]string{}
		for _, name := range []string{"first", "second"} {
			folders[name] = c.write(name, "of "+name)
			c.await("pod/user-"+name+"-0", ".status.phase", "Running")
		}
		kustomized := func(folder, mode string) string {
			writeFile(c.t, filepath.Join(c.dir, folder, "claims.yaml"), []byte(claim("first", "standard", once)+claim("second", "standard", once)))
			return writeFile(c.t, filepath.Join(c.dir, folder, "kustomization.yaml"), []byte("resources: [claims.yaml]\npatches:\n- target: {kind: PersistentVolumeClaim}\n"+
				`  patch: '[{"op": "replace", "path": "/spec/accessModes/0", "value": "`+mode+`"}]'`+"\n"))
		}
		kustomized("before", "ReadWriteOnce")
		kustomized("after", "ReadWriteMany")
		r := checked(c.t, c.program, filepath.Join(c.dir, "before"), filepath.Join(c.dir, "after"))
		if len(r.Replacements) != 2 {
			c.t.Fatalf("got %+v, want two claims", r)
		}
		// The first apply is refused for the other claim, which is still there, after it has created its own.
		for _, name := range []string{"first", "second"} {
			own := slices.IndexFunc(r.Replacements, func(found waysOfObject) bool { return strings.HasSuffix(found.Object, name) })
			way := c.way(r.Replacements[own].How, "keep the volume")
			if apply := "kubectl apply -k " + filepath.Join(c.dir, "after"); name == "first" {
				way = strings.Replace(way, apply, "apply all, of which the other claim is refused", 1)
			}
			actions := scaling(name)
			actions["apply all"] = "! kubectl apply -k " + filepath.Join(c.dir, "after")
			if out, err := c.carryOut(way, actions); err != nil {
				c.t.Fatalf("%v\n%s", err, out)
			}
		}
		for name, folder := range folders {
			if got := c.folder(name); got != folder || !has(got, "of "+name) || c.get("pvc/"+name, ".spec.accessModes[0]") != "ReadWriteMany" {
				c.t.Errorf("the claim %s is bound to %s, and was to %s", name, got, folder)
			}
			c.await("pod/user-"+name+"-0", ".status.phase", "Running")
		}
	})
	run("a CRD is replaced, its objects come back, and what they own stays", func(c *controllers) {
		crd := func(scope string) string {
			return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: shops.ways.fieldlock.dev}\n" +
				"spec: {group: ways.fieldlock.dev, scope: Namespaced, names: {plural: shops, kind: " + scope + "}, versions: [{name: v1, served: true, storage: true, " +
				"schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}\n"
		}
		c.apply(crd("Shop"))
		c.must("kubectl wait --for=condition=Established crd/shops.ways.fieldlock.dev")
		c.apply("apiVersion: ways.fieldlock.dev/v1\nkind: Shop\nmetadata: {name: one, namespace: claims, finalizers: [fieldlock.dev/controller]}\nspec: {a: 1}\n")
		c.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned, namespace: claims, ownerReferences: [{apiVersion: ways.fieldlock.dev/v1, kind: Shop, name: one, uid: " +
			c.get("shops.ways.fieldlock.dev/one", ".metadata.uid") + "}]}\n")
		owned := c.get("configmap/owned", ".metadata.uid")
		way := c.way(c.waysOut("CustomResourceDefinition", crd("Shop"), crd("Store")), "create its objects again")
		way = strings.Replace(way, " && kubectl create", "\nsave the objects as the new kind\nkubectl create", 1)
		c.t.Chdir(c.dir)
		actions := map[string]string{"stop the controller": "true", "start the controller": "true", "save the objects as": "sed -i 's/kind: Shop/kind: Store/' shops.ways.fieldlock.dev.yaml"}
		if out, err := c.carryOut(way, actions); err != nil {
			c.t.Fatalf("%v\n%s", err, out)
		}
		if kind, spec := c.get("shops.ways.fieldlock.dev/one", ".kind"), c.get("shops.ways.fieldlock.dev/one", ".spec.a"); kind != "Store" || spec != "1" {
			c.t.Errorf("the object is of the kind %q, with %q", kind, spec)
		}
		time.Sleep(5 * time.Second) // the garbage collector would have taken it by then
		if got := c.get("configmap/owned", ".metadata.uid"); got != owned {
			c.t.Errorf("what the object owned is gone: %q", got)
		}
		c.must("kubectl patch shops.ways.fieldlock.dev one --type merge -p '{\"metadata\":{\"finalizers\":null}}'", "kubectl delete crd shops.ways.fieldlock.dev")
	})
	run("nobody needs the data", func(c *controllers) {
		c.apply(claim("lost", "standard", once) + user("lost"))
		folder := c.write("lost", "42")
		ways := c.waysOut("PersistentVolumeClaim", claim("lost", "standard", once), claim("lost", "fast", once))
		if len(ways) != 2 || !strings.Contains(ways[0], "copy the data") {
			c.t.Errorf("another class: got %q, want to copy first", ways)
		}
		if out, err := c.carryOut(c.way(ways, "nobody needs the data"), scaling("lost")); err != nil {
			c.t.Fatalf("%v\n%s", err, out)
		}
		if got := c.folder("lost"); got == folder || c.get("pvc/lost", ".spec.storageClassName") != "fast" {
			c.t.Errorf("the claim has the folder %s, and had %s", got, folder)
		}
		for end := time.Now().Add(time.Minute); has(folder, "42"); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				c.t.Fatal("the data is still there")
			}
		}
	})
	run("a reserved volume binds to a claim of another class, and the data stays where it is", func(c *controllers) {
		c.apply(claim("moved", "standard", once))
		folder := c.write("moved", "42")
		way := c.way(c.waysOut("PersistentVolumeClaim", claim("moved", "standard", once), claim("moved", "standard", many)), "keep the volume")
		way = strings.ReplaceAll(way, "ReadWriteMany", "ReadWriteOnce")
		c.file("new.yaml", claim("moved", "fast", once)) // which the way applies
		if out, err := c.carryOut(way, map[string]string{"scale": "true"}); err != nil {
			c.t.Fatalf("%v\n%s", err, out)
		}
		if got := c.folder("moved"); got != folder {
			c.t.Errorf("the claim has the folder %s, and had %s", got, folder)
		}
	})
	run("a volume is replaced, and its storage stays", func(c *controllers) {
		volume := func(kind string) string {
			return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], " +
				"storageClassName: none, persistentVolumeReclaimPolicy: Delete, hostPath: {path: " + c.dir + "/disk, type: " + kind + "}}\n---\n"
		}
		c.apply(volume("DirectoryOrCreate") + claim("disk", "none", once) + user("disk"))
		folder := c.write("disk", "42")
		c.await("pod/user-disk-0", ".status.phase", "Running")
		ways := c.waysOut("PersistentVolume", volume("DirectoryOrCreate"), volume("Directory"))
		again := c.file("again.yaml", claim("disk", "none", once))
		actions := scaling("disk")
		actions["in its manifest"] = "sed -i 's/^spec: {/spec: {claimRef: {namespace: claims, name: disk}, /' " + c.dir + "/new.yaml"
		actions["create the claim again"] = "kubectl apply -f " + again + "\nkubectl scale statefulset user-disk --replicas=1"
		if out, err := c.carryOut(c.way(ways, "keep the storage"), actions); err != nil {
			c.t.Fatalf("%v\n%s", err, out)
		}
		if got := c.folder("disk"); got != folder || !has(got, "42") || c.get("pv/disk", ".spec.hostPath.type") != "Directory" {
			c.t.Errorf("the claim has the folder %s, and had %s", got, folder)
		}
		c.await("pod/user-disk-0", ".status.phase", "Running")
	})
	for name, orphan := range map[string]bool{"its pods stay": true, "its pods stop": false} {
		run("a StatefulSet is replaced, and "+name, func(c *controllers) {
			app := map[bool]string{true: "soft", false: "hard"}[orphan]
			set := func(service, size string) string {
				return strings.NewReplacer("APP", app, "SERVICE", service, "SIZE", size).Replace(stateful)
			}
			c.apply(set("old", "1Gi"))
			folder := c.write("data-"+app+"-0", "42")
			c.await("pod/"+app+"-0", ".status.phase", "Running")
			pod, before := c.get("pod/"+app+"-0", ".metadata.uid"), c.get("statefulset/"+app, ".metadata.uid")
			if before == "" || pod == "" {
				c.t.Fatal("no pod")
			}
			ways := c.waysOut("StatefulSet", set("old", "1Gi"), set("new", "2Gi"))
			way := c.way(ways, "--cascade=orphan")
			if !orphan {
				way = ways[len(ways)-1]
			}
			observe := `kubectl wait --for=jsonpath='{.metadata.ownerReferences[0].uid}'="$(kubectl get statefulset ` + app + ` -o jsonpath={.metadata.uid})" pod/` + app + "-0 --timeout=60s\n" +
				`[ "$(kubectl get pod ` + app + `-0 -o jsonpath={.metadata.uid})" = ` + pod + " ]"
			if orphan { // the pod that was there is adopted, and stops only when it is restarted
				restart := "kubectl rollout restart "
				head, tail, _ := strings.Cut(way, "\n"+restart)
				way = head + "\nsee whether the pod was adopted\n" + restart + tail
			}
			actions := map[string]string{
				"create the headless Service": "kubectl create service clusterip new --clusterip=None --tcp=80",
				"the claims that exist":       "true", "see whether": observe,
			}
			if !orphan {
				actions["create the headless Service"] = "kubectl get service new"
			}
			if out, err := c.carryOut(way, actions); err != nil {
				c.t.Fatalf("%v\n%s", err, out)
			}
			c.must("kubectl rollout status statefulset " + app + " --timeout=60s")
			if after := c.get("statefulset/"+app, ".metadata.uid"); after == before || pod == c.get("pod/"+app+"-0", ".metadata.uid") {
				c.t.Errorf("the StatefulSet or its pod is the old one")
			}
			if got := c.folder("data-" + app + "-0"); got != folder || !has(got, "42") {
				c.t.Errorf("the claim has the folder %s, and had %s", got, folder)
			}
			if size := c.get("pvc/data-"+app+"-0", ".spec.resources.requests.storage"); size != "2Gi" {
				c.t.Errorf("the claim asks for %s", size)
			}
		})
	}
	for name, labels := range map[string][2]string{"one more label": {"{app: more}", "{app: more, tier: db}"}, "another label": {"{app: other}", "{app: another}"}} {
		run("a StatefulSet selects its pods by "+name, func(c *controllers) {
			app := strings.Trim(strings.Fields(labels[0])[1], "}")
			set := func(labels string) string {
				return strings.NewReplacer("{app: APP}", labels, "APP", app, "SERVICE", "old", "SIZE", "1Gi").Replace(stateful)
			}
			c.apply(set(labels[0]))
			folder := c.write("data-"+app+"-0", "42")
			c.await("pod/"+app+"-0", ".status.phase", "Running")
			pod := c.get("pod/"+app+"-0", ".metadata.uid")
			way := c.way(c.waysOut("StatefulSet", set(labels[0]), set(labels[1])), "--cascade=orphan")
			way = strings.Replace(way, " && kubectl apply", "\nsee whether the pod stays\nkubectl apply", 1)
			see := `[ "$(kubectl get pod ` + app + `-0 -o jsonpath={.metadata.uid})" = ` + pod + " ]"
			if out, err := c.carryOut(way, map[string]string{"see whether": see}); err != nil || !strings.Contains(way, "kubectl label pods") {
				c.t.Fatalf("%v\n%s\n%s", err, way, out)
			}
			adopted := `'{.metadata.ownerReferences[0].uid}'="$(kubectl get statefulset ` + app + ` -o jsonpath={.metadata.uid})" pod/` + app + "-0 --timeout=60s"
			c.must("kubectl wait --for=jsonpath="+adopted, "kubectl rollout status statefulset "+app+" --timeout=60s")
			if got := c.folder("data-" + app + "-0"); got != folder || !has(got, "42") {
				c.t.Errorf("the claim has the folder %s, and had %s", got, folder)
			}
		})
	}
	run("a StatefulSet goes, and its claims stay", func(c *controllers) {
		set := func(app, policy string) string {
			return strings.NewReplacer("APP", app, "SERVICE", "old", "SIZE", "1Gi", "serviceName", "persistentVolumeClaimRetentionPolicy: {whenDeleted: "+policy+"}\n  serviceName").Replace(stateful)
		}
		c.apply(set("gone", "Delete") + set("stays", "Delete"))
		for _, app := range []string{"gone", "stays"} {
			c.write("data-"+app+"-0", "42")
			c.await("pod/"+app+"-0", ".status.phase", "Running")
			c.await("pvc/data-"+app+"-0", ".metadata.ownerReferences[0].name", app)
		}
		c.way(c.waysOut("StatefulSet", set("stays", "Delete")+claim("x", "standard", once), claim("x", "standard", once)), "whenDeleted: Retain with an earlier change")
		c.apply(set("stays", "Retain"))
		for end := time.Now().Add(time.Minute); c.get("pvc/data-stays-0", ".metadata.ownerReferences") != "" && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
		}
		c.must("kubectl delete statefulset gone stays", "kubectl wait --for=delete pvc/data-gone-0 --timeout=60s")
		if folder := c.folder("data-stays-0"); !has(folder, "42") {
			c.t.Errorf("the data is not in %s", folder)
		}
	})
	run("a claim goes, and its volume stays", func(c *controllers) {
		text := claim("left", "standard", once)
		c.apply(text)
		folder := c.write("left", "42")
		volume := c.get("pvc/left", ".spec.volumeName")
		ways := c.waysOut("PersistentVolumeClaim", text+claim("x", "standard", once), claim("x", "standard", once))
		if out, err := c.carryOut(c.way(ways, "Retain"), nil); err != nil {
			c.t.Fatalf("%v\n%s", err, out)
		}
		c.must("kubectl delete pvc left")
		c.await("pv/"+volume, ".status.phase", "Released")
		if !has(folder, "42") {
			c.t.Errorf("the data is not in %s", folder)
		}
	})
	run("a namespace goes, and the volumes of its claims stay", func(c *controllers) {
		const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: leaving}\n---\n"
		there := strings.ReplaceAll(claim("there", "standard", once), "namespace: claims", "namespace: leaving")
		c.apply(namespace + there)
		c.await("pvc/there -n leaving", ".status.phase", "Bound")
		volume := c.get("pvc/there -n leaving", ".spec.volumeName")
		ways := c.waysOut("Namespace", namespace+claim("x", "standard", once), claim("x", "standard", once))
		if out, err := c.carryOut(c.way(ways, "Retain"), nil); err != nil {
			c.t.Fatalf("%v\n%s", err, out)
		}
		c.must("kubectl delete namespace leaving --timeout=60s")
		c.await("pv/"+volume, ".status.phase", "Released")
	})
	run("data moves to another class", func(c *controllers) { c.moveData(t) })
	c.must("kubectl delete statefulset,job,pvc --all --wait=false && kubectl delete pv --all --wait=false")
}

// stateful is a StatefulSet with a claim, with names and a size to fill in.
const stateful = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: APP, namespace: claims}
spec:
  serviceName: SERVICE
  selector: {matchLabels: {app: APP}}
  template: {metadata: {labels: {app: APP}}, spec: {containers: [{name: a, image: a, volumeMounts: [{name: data, mountPath: /data}]}]}}
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: standard, resources: {requests: {storage: SIZE}}}}
---
`

// moveData runs the recipe of the pages as it is written.
func (c *controllers) moveData(t *testing.T) {
	blocks, err := page.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	set := strings.NewReplacer("APP", "orders", "SERVICE", "orders", "SIZE", "1Gi").Replace(stateful)
	c.apply(set)
	old := c.write("data-orders-0", "42")
	c.await("pod/orders-0", ".status.phase", "Running")
	t.Chdir(c.dir)
	c.file("orders.yaml", strings.Replace(set, "storageClassName: standard", "storageClassName: fast", 1))
	ran := 0
	var lines []string
	for _, b := range blocks {
		switch {
		case b.File != "docs/recipes.md":
		case b.Language == "yaml" && strings.Contains(b.Text, "data-copy"):
			c.file("copy.yaml", b.Text)
		case b.Language == "sh":
			lines = append(lines, b.Text)
			ran++
		}
	}
	if out, err := c.shell(lines...); err != nil || ran != 3 {
		c.t.Fatalf("%d blocks: %v\n%s", ran, err, out)
	}
	if folder := c.folder("data-orders-0"); folder == old || !has(folder, "42") || c.get("pvc/data-orders-0", ".spec.storageClassName") != "fast" {
		c.t.Errorf("the data is not in %s, and was in %s", folder, old)
	}
	c.await("pod/orders-0", ".status.phase", "Running")
	if _, err := os.Stat(old); err != nil {
		c.t.Errorf("the old storage is gone: %v", err)
	}
}
