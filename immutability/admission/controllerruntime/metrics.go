package controllerruntime

import (
	"context"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fieldlock/fieldlock/immutability/admission"
)

// Metrics counts answers for Prometheus: requests by kind, operation and decision, violations by lock, durations,
// bodies; and what a registry has loaded. No label holds a path, a name or anything else that a client could make up.
//
//	counts := controllerruntime.NewMetrics(registry)
//	err := metrics.Registry.Register(counts) // of controller-runtime
//	...
//	handler, err := controllerruntime.NewHandler(registry, counts.Option())
//
// All Validators and handlers of a program can share one. The zero Metrics and nil count nothing.
type Metrics struct{ meters *meters }

var _ prometheus.Collector = (*Metrics)(nil)

// NewMetrics returns counters, and for an r that is not nil also what r has loaded and which of its kinds have faults.
func NewMetrics(r *admission.Registry) *Metrics { return &Metrics{newMeters(r)} }

// Option makes a Validator or handler count in m. It replaces an observer that an earlier option set.
func (m *Metrics) Option() admission.Option {
	if m == nil || m.meters == nil {
		return admission.WithObserver(nil)
	}
	return admission.WithObserver(m.meters.observe)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(to)
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	if m == nil || m.meters == nil {
		return nil
	}
	list := []prometheus.Collector{m.meters.requests, m.meters.violations, m.meters.seconds, m.meters.bytes}
	return append(list, m.meters.registry...)
}

var kindLabels = []string{"group", "version", "kind"}

// meters count what is answered.
type meters struct {
	requests   *prometheus.CounterVec
	violations *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	bytes      prometheus.Histogram
	registry   []prometheus.Collector // of what is loaded
}

func newMeters(r *admission.Registry) *meters {
	m := &meters{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fieldlock_admission_requests_total",
			Help: "Admission requests by kind, operation, decision and dry-run.",
		}, append(kindLabels[:3:3], "operation", "decision", "dry_run")),
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fieldlock_admission_violations_total",
			Help: "Violations by kind and lock, of updates that were refused, warned about or audited.",
		}, append(kindLabels[:3:3], "lock")),
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
	}
	if r != nil {
		m.registry = []prometheus.Collector{
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "fieldlock_admission_kinds_with_faults",
				Help: "Kinds whose locks cannot be read now; the last good ones are in force, or updates are refused.",
			}, func() float64 { return float64(len(r.Faults())) }),
			loaded{registry: r, desc: prometheus.NewDesc("fieldlock_admission_locked_fields",
				"Fields with locks in force, by kind and version.", kindLabels, nil)},
		}
	}
	return m
}

// observe counts one request.
func (m *meters) observe(_ context.Context, o admission.Observation) {
	decision := string(o.Decision)
	m.requests.WithLabelValues(o.Kind.Group, o.Kind.Version, o.Kind.Kind, o.Operation, decision,
		strconv.FormatBool(o.DryRun)).Inc()
	m.seconds.WithLabelValues(o.Operation, decision).Observe(o.Duration.Seconds())
	m.bytes.Observe(float64(o.Bytes))
	for lock, n := range o.Locks {
		m.violations.WithLabelValues(o.Kind.Group, o.Kind.Version, o.Kind.Kind, string(lock)).Add(float64(n))
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
			to <- prometheus.MustNewConstMetric(l.desc, prometheus.GaugeValue, float64(len(version.Validator.Locks())),
				kind.Group, name, kind.Kind)
		}
	}
}
