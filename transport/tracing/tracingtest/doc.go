// Package tracingtest is a collector of traces for tests: it takes spans over OTLP/HTTP, as real
// collectors do, and shows what came.
package tracingtest
