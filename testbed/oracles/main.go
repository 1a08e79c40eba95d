// Command oracle answers questions with the libraries that Flux itself is built from: each subcommand
// reads cases as JSON on standard input and prints the real library's answers as JSON.
package main

import (
	"fmt"
	"os"
	"sort"
)

// commands maps a subcommand to what runs it; each file of this package registers its own.
var commands = map[string]func() error{}

func main() {
	if len(os.Args) == 2 {
		if run, known := commands[os.Args[1]]; known {
			if err := run(); err != nil {
				fmt.Fprintln(os.Stderr, "oracle:", err)
				os.Exit(1)
			}
			return
		}
	}
	names := make([]string, 0, len(commands))
	for name := range commands {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintln(os.Stderr, "usage: oracle SUBCOMMAND < cases.json; subcommands:", names)
	os.Exit(2)
}
