// Package report draws a fault run as one page that loads nothing from elsewhere.
//
// It owns the pictures and tables. It refuses to judge: it is given the history
// and what check found. Its caller is test/faults.
package report
