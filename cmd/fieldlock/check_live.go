package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/cluster"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// liveSource is a cluster, and what an apply of NEW would make of its objects.
func (c *checkCommand) liveSource() source {
	var o liveFlags
	given := func(args []string) (bool, error) {
		if o.live && (c.git != "" || len(c.renders) > 0 || len(args) == 0) {
			return true, errors.New("check --live needs NEW only: files, directories or -; --git and --render go " +
				"without --live")
		}
		o.Applier = c.options.Applier
		return o.live, nil
	}
	return source{o.flags, given, func(r *manifest.Reader, args []string) (*compare.Input, error) {
		return c.readLive(r, args, o.Options)
	}}
}

// liveFlags choose the cluster of check --live.
type liveFlags struct {
	live bool
	cluster.Options
}

func (o *liveFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.live, "live", false,
		"compare NEW with the objects of the current cluster; nothing is written")
	cmd.Flags().StringVar(&o.Kubeconfig, "kubeconfig", "", "with --live: the kubeconfig `FILE`")
	cmd.Flags().StringVar(&o.Context, "context", "", "with --live: the `NAME` of the kubeconfig context")
	cmd.Flags().StringVarP(&o.Namespace, "namespace", "n", "", "with --live: the `NAMESPACE` of objects without one")
}

// readLive reads NEW from args, and OLD from the cluster.
func (c *checkCommand) readLive(r *manifest.Reader, args []string, o cluster.Options) (*compare.Input, error) {
	in := &compare.Input{}
	err := c.configure(nil)
	if err != nil {
		return nil, err
	}
	if err := c.readDeployed(r, args, in); err != nil {
		return nil, err
	}
	if in.NewSchemas, in.Errs, err = r.Schemas(c.schemas...); err != nil {
		return nil, err
	}
	if in.Accepted, _, err = c.acceptances(); err != nil {
		return nil, err
	}
	if in.Locks, in.Warnings, err = c.external(c.project, nil); err != nil {
		return nil, err
	}
	from, err := cluster.Open(o)
	if err != nil {
		return nil, err
	}
	if err := c.builtinOf(from.Minor); err != nil {
		return nil, err
	}
	ctx := context.Background()
	objects := manifest.Objects(in.New).Objects
	in.OldSchemas = in.NewSchemas
	defined := c.liveCRDs(ctx, from, objects, in)
	c.progress.begin("asked about", "object", len(objects))
	live, errs := from.Fetch(ctx, objects, c.progress.step)
	in.Live = map[*yamldoc.Document]compare.Live{}
	var remarks liveRemarks
	for i := range live {
		if errs[i] != nil {
			in.Errs = append(in.Errs, errs[i])
		}
		if errs[i] != nil && live[i].New == nil {
			in.Live[objects[i].Document] = compare.Live{Unread: true}
			continue
		}
		remarks.add(objects[i], &live[i])
		if live[i].Old == nil {
			continue
		}
		l := compare.Live{Old: cluster.Document(live[i].Old), New: live[i].New, Accepted: live[i].Accepted}
		if defined[kindOf(objects[i])] { // the server of other kinds can have locks of its own
			guarded, err := from.Guarded(ctx, objects[i])
			l.Unguarded = err == nil && !guarded // a lock counts where nobody can tell
		}
		for _, refusal := range live[i].Refusals {
			l.Refusals = append(l.Refusals, compare.ServerRefusal(refusal))
		}
		in.Live[objects[i].Document] = l
	}
	in.Warnings = append(in.Warnings, remarks.warnings()...)
	return in, nil
}

// groupKind is a kind and its group.
type groupKind struct{ group, kind string }

func kindOf(o *manifest.Object) groupKind { return groupKind{o.Group, o.Kind} }

// liveCRDs adds the CRDs of the cluster that define the kinds of objects, and returns these kinds. The cluster has the
// CRDs before and after the change, unless NEW has others.
func (c *checkCommand) liveCRDs(ctx context.Context, from *cluster.Cluster, objects []*manifest.Object,
	in *compare.Input) (defined map[groupKind]bool) {
	f := manifest.File{Name: manifest.Cluster, Path: manifest.Cluster, Found: true}
	given, asked := map[groupKind]bool{}, map[groupKind]bool{}
	defined = map[groupKind]bool{}
	for _, crd := range in.NewSchemas.CRDs {
		given[groupKind{crd.Group, crd.Kind}] = true
	}
	for _, o := range objects {
		kind := kindOf(o)
		if asked[kind] {
			continue
		}
		if c.options.Builtin != nil {
			if _, ok := c.options.Builtin.Find(o.APIVersion, o.Kind); ok {
				continue
			}
		}
		asked[kind] = true
		switch d, err := from.CRD(ctx, o); {
		case err != nil && given[kind]:
			in.Warnings = append(in.Warnings, err.Error())
		case err != nil:
			in.Errs = append(in.Errs, err)
		case d != nil:
			f.Documents = append(f.Documents, d)
			defined[kind] = true
		}
	}
	set := manifest.Objects([]manifest.File{f})
	in.Errs = append(in.Errs, set.Errs...)
	in.OldSchemas.CRDs = slices.Concat(in.OldSchemas.CRDs, set.CRDs)
	in.NewSchemas.CRDs = slices.Concat(in.NewSchemas.CRDs, set.CRDs)
	return defined
}

// liveRemarks are what a check of a cluster could not find out.
type liveRemarks struct {
	notAsked int
	reason   string   // of the first that was not asked about
	unserved []string // kinds, each once
}

func (r *liveRemarks) add(o *manifest.Object, l *cluster.Live) {
	if l.NotAsked != "" {
		if r.notAsked++; r.notAsked == 1 {
			r.reason = l.NotAsked
		}
	}
	if kind := o.Kind + " of " + o.APIVersion; l.Unserved && !slices.Contains(r.unserved, kind) {
		r.unserved = append(r.unserved, kind)
	}
}

func (r *liveRemarks) warnings() []string {
	var list []string
	if r.notAsked > 0 {
		list = append(list, fmt.Sprintf("no dry run was possible for %s, so check merged the manifests itself, and "+
			"the API server may refuse more: %s",
			report.Count(r.notAsked, "object"), r.reason))
	}
	if len(r.unserved) > 0 {
		list = append(list, fmt.Sprintf("the cluster does not serve %s: an apply of such objects fails, unless it "+
			"installs the kind first", enumerate(r.unserved, "")))
	}
	return list
}

// builtinOf takes the built-in kinds of the cluster's minor, unless the user names another one.
func (c *checkCommand) builtinOf(minor string) error {
	if c.noBuiltin || c.minor != "" {
		return nil
	}
	kinds, err := builtin.For(minor)
	if err != nil {
		fmt.Fprintf(c.err, "warning: built-in kinds are checked as Kubernetes %s has them: %v\n",
			c.options.Builtin.Minor, err)
		return nil
	}
	c.options.Builtin = kinds
	return nil
}
