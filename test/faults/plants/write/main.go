// Command write makes the overlay of a fault build and prints its path.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/seriatimq/seriatim/test/faults/plants"
)

func main() {
	root := flag.String("root", ".", "the root of the product")
	dir := flag.String("out", "bin/_overlay", "folder for the edited files and overlay.json")
	flag.Parse()
	path, err := plants.Write(*root, *dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "plants:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
