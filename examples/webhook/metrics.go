package main

import (
	"context"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fieldlock/fieldlock/immutability/admission"
)

// meters count what the webhook answers, and say what it has loaded. No label holds a path, a name or anything else that
// a client could make up.
type meters struct {
	requests   *prometheus.CounterVec
	violations *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	bytes      prometheus.Histogram
	faults     prometheus.GaugeFunc
	locks      loaded
}

var _ prometheus.Collector = (*meters)(nil)

func newMetrics(r *admission.Registry) *meters {
	kind := []string{"group", "version", "kind"}
	return &meters{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fieldlock_admission_requests_total",
			Help: "Admission requests by kind, operation, decision and dry-run.",
		}, append(kind[:3:3], "operation", "decision", "dry_run")),
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fieldlock_admission_violations_total",
			Help: "Violations by kind and lock, of updates that were refused, warned about or audited.",
		}, append(kind[:3:3], "lock")),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fieldlock_admission_duration_seconds",
			Help:    "Time from the beginning of a request's body to the answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 12),
		}, []string{"operation", "decision"}),
		bytes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "fieldlock_admission_request_bytes",
			Help:    "Length of request bodies.",
			Buckets: prometheus.ExponentialBuckets(1024, 4, 8),
		}),
		faults: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fieldlock_admission_kinds_with_faults",
			Help: "Kinds whose locks cannot be read now; the last good ones are in force, or updates are refused.",
		}, func() float64 { return float64(len(r.Faults())) }),
		locks: loaded{registry: r, desc: prometheus.NewDesc("fieldlock_admission_locked_fields",
			"Fields with locks in force, by kind and version.", kind, nil)},
	}
}

// loaded collects how many fields are locked in each version of each kind.
type loaded struct {
	registry *admission.Registry
	desc     *prometheus.Desc
}

var _ prometheus.Collector = loaded{}

func (l loaded) Describe(to chan<- *prometheus.Desc) { to <- l.desc }

func (l loaded) Collect(to chan<- prometheus.Metric) {
	for _, kind := range l.registry.Kinds() {
		for name, version := range kind.Versions {
			to <- prometheus.MustNewConstMetric(l.desc, prometheus.GaugeValue, float64(len(version.Validator.Locks())), kind.Group, name, kind.Kind)
		}
	}
}

func (m *meters) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.violations, m.seconds, m.bytes, m.faults, m.locks}
}

// observe counts one request.
func (m *meters) observe(_ context.Context, o admission.Observation) {
	decision := string(o.Decision)
	m.requests.WithLabelValues(o.Kind.Group, o.Kind.Version, o.Kind.Kind, o.Operation, decision, strconv.FormatBool(o.DryRun)).Inc()
	m.seconds.WithLabelValues(o.Operation, decision).Observe(o.Duration.Seconds())
	m.bytes.Observe(float64(o.Bytes))
	for lock, n := range o.Locks {
		m.violations.WithLabelValues(o.Kind.Group, o.Kind.Version, o.Kind.Kind, string(lock)).Add(float64(n))
	}
}

// Describe and Collect make one collector from all.
func (m *meters) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(to)
	}
}

func (m *meters) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(to)
	}
}
